/** Where an agent tells what happens to it. `console` is one, too. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

function nothing(): void {}

export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Writes lines to standard error. */
export const standardLog: Logger = {
  debug: nothing,
  info: (message, fields) => write("INFO", message, fields),
  warn: (message, fields) => write("WARN", message, fields),
  error: (message, fields) => write("ERROR", message, fields),
};

function write(level: string, message: string, fields: object = {}): void {
  const said = Object.entries(fields).map(([name, value]) => ` ${name}=${word(value)}`);
  console.error(`${new Date().toISOString()} ${level} ${message}${said.join("")}`);
}

function word(value: unknown): string {
  const text = String(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** A log whose lines all have these fields. */
export function logWith(log: Logger, fields: object): Logger {
  return {
    debug: (message, more) => log.debug(message, { ...fields, ...more }),
    info: (message, more) => log.info(message, { ...fields, ...more }),
    warn: (message, more) => log.warn(message, { ...fields, ...more }),
    error: (message, more) => log.error(message, { ...fields, ...more }),
  };
}
