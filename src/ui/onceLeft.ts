// A session that was open in a terminal is free only once the agent in it has written it down and gone. Knows no editor.
import type { Outcome } from './acts'

/** The agent in a closed terminal writes down its session before it goes. */
const leaveMs = 10_000
const askAgainMs = 250

/** Resumes; asks again for a while, but only as long as the one reason against it is that the session is still open. */
export async function resumeOnceLeft(
  resume: () => Promise<Outcome>,
  pause: (ms: number) => Promise<void> = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
): Promise<Outcome> {
  for (let waited = 0; ; waited += askAgainMs) {
    const outcome = await resume()
    if (outcome.ok || outcome.code !== 'open_elsewhere' || waited >= leaveMs) return outcome
    await pause(askAgainMs)
  }
}
