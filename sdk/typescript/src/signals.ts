import process from "node:process";

const names = ["SIGTERM", "SIGINT"] as const;

/** Calls `stop` at the first signal; a second one ends the process at once, as if nobody listened. */
export function onSignals(stop: () => void): () => void {
  const forget = () => names.forEach((name) => process.off(name, heard));
  const heard = () => {
    forget();
    stop();
  };
  names.forEach((name) => process.on(name, heard));
  return forget;
}
