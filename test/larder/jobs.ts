// The worker: it counts what is in the larder, once a minute.
setInterval(() => console.log('counted'), 60_000);
console.log(`larder ${process.env.VERSION} counts`);
process.on('SIGTERM', () => process.exit());
