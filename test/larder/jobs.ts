// The worker counts the supplies once a minute.
setInterval(() => console.log('counted'), 60_000);
console.log(`larder ${process.env.VERSION} worker started`);
process.on('SIGTERM', () => process.exit());
