// Waits for facts that no event announces, such as a file of another process or a window's text. Never waits for time.

/** How long a fact may take before the test fails, unless said otherwise. Generous: two cores are shared. */
const patienceMs = 30_000

const pauseMs = 50

/**
 * Looks until there is an answer.
 * @param what the fact awaited, for the failure message: "the child's branch has a commit"
 * @param look returns the fact, or undefined or false while it is not there; a throw counts as not there yet
 * @param deadlineMs after which the promise rejects, naming the fact and what the last look threw
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = patienceMs,
): Promise<T> {
  const deadline = Date.now() + deadlineMs
  for (;;) {
    let last: unknown
    try {
      const found = await look()
      if (found !== undefined && found !== false) return found
    } catch (error) {
      last = error
    }
    if (Date.now() >= deadline) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`, { cause: last })
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
