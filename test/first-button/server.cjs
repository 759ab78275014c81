// An existing product: CommonJS, Express, and a page that sends a token from localStorage. It runs as another user than root.
const { createHmac } = require('node:crypto');
const { appendFileSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const express = require('express');
const { addUpdates } = require('./updates.cjs');

const { VERSION } = process.env;
const tokenOf = (name) =>
  `${name}.${createHmac('sha256', 'a key of the product').update(name).digest('hex')}`;

/** Returns the user of an `Authorization` header. */
function userOf({ authorization = '' }) {
  const [name = ''] = authorization.replace('Bearer ', '').split('.');
  if (authorization !== `Bearer ${tokenOf(name)}`) return null;
  return { name, role: name === 'anna' ? 'admin' : 'user' };
}

const app = express();
addUpdates(app, userOf);
app.use(express.json());
app.get('/', (_, response) =>
  response.type('html').send(readFileSync(join(__dirname, 'page.html'), 'utf8').replace('v1.0.0', VERSION)),
);
app.get('/update-elements.js', (_, response) => response.sendFile(join(__dirname, 'update-elements.js')));
app.post('/login', (request, response) => response.json({ token: tokenOf(request.body.name) }));
app.use((request, response, next) => (userOf(request.headers) ? next() : response.sendStatus(401)));
app.get('/version', (_, response) => response.send(VERSION));

appendFileSync('/data/started', `${VERSION}\n`);
app.listen(8080);
process.on('SIGTERM', () => process.exit());
