/**
 * What to make of a file that could not be opened: `otherwise`, as if it were not there. With no file descriptor left that
 * is not known of any file, so the error is thrown on.
 */
export function unlessOutOfFiles<T>(error: unknown, otherwise: T): T {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EMFILE' || code === 'ENFILE') throw error
  return otherwise
}
