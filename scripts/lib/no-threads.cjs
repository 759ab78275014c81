// In the bundle in place of `thread-stream`, which pino loads for transports.
module.exports = class {
  constructor() {
    throw new Error('no transports in the bundle');
  }
};
