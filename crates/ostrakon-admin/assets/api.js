// The admin API, as this page uses it. Paths are relative, so that a proxy may serve the page anywhere.

const PATIENCE = 5000;

/** The server answered, and refused: it says why, and what to do about it. */
export class Refused extends Error {
  constructor(status, { error, remedy }) {
    super(error);
    this.status = status;
    this.remedy = remedy;
  }
}

export const get = (path) => ask(path, {});

/** Asks for a change. Without a token, a certificate may do. */
export function post(path, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return ask(path, { method: "POST", headers });
}

export const part = encodeURIComponent;

async function ask(path, options) {
  const answer = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
  if (answer.ok) return answer.json();
  const unclear = { error: `the server answers ${answer.status}`, remedy: "" };
  throw new Refused(answer.status, await answer.json().catch(() => unclear));
}

/** Words for anything that went wrong. */
export const wordsFor = (error) => (error instanceof Refused ? error : { message: "the server does not answer", remedy: "try again when the connection is back" });
