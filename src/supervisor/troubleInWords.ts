// What a person is told when the system refused a file, a pipe or a process: by its code, never by the words of a message.

/** One or two sentences: what happened, and what to do. Anything unforeseen keeps its own words. */
export function troubleInWords(error: unknown): string {
  const { code, path } = error as Partial<NodeJS.ErrnoException>
  const where = path === undefined ? '' : ` (${path})`
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk is full${where}, so it could not be recorded. Free some space, then try again.`
    case 'EIO':
      return `The disk reported an error${where}, so it could not be read or recorded. Check the disk, then try again.`
    case 'EMFILE':
    case 'ENFILE':
      return `Too many files are open${where}. Close some windows or let some children end, then try again.`
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `Access was denied${where}. Make it readable and writable for you, then try again.`
    default: {
      const words = error instanceof Error ? error.message : String(error)
      return code === undefined ? words : `The system refused it: ${words}.`
    }
  }
}
