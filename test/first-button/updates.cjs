// Forwards the endpoints of the updates to the service, and tells the service who a user is.
const { createHash, timingSafeEqual } = require('node:crypto');
const http = require('node:http');

const hash = (text) => createHash('sha256').update(text).digest();

/** Returns whether a request is from the service. Without a secret, no request is. */
function isFromService({ authorization = '' }) {
  const { UPDATES_SECRET: secret } = process.env;
  return Boolean(secret) && timingSafeEqual(hash(authorization), hash(`Bearer ${secret}`));
}

/** userOf({ cookie, authorization }) returns { name, role }, or null. The role is 'admin' or 'user'. */
exports.addUpdates = (app, userOf) => {
  app.use('/api/v1/instance/update', (request, response) => {
    const { method, originalUrl: path, headers } = request;
    const forwarded = http.request({ host: 'updates', port: 8080, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(503).end()));
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });

  app.get('/updates-callbacks/user', async ({ headers }, response) => {
    if (!isFromService(headers)) return response.sendStatus(403);
    const authorization = headers['x-forwarded-authorization'];
    // An invalid or expired token may throw an error.
    const asked = new Promise((resolve) => resolve(userOf({ cookie: headers.cookie, authorization })));
    const user = await asked.catch(() => null);
    return user ? response.json(user) : response.sendStatus(401);
  });
};
