// What a person is told when the system refused a file, a pipe or a process: by its code, never by the words of a message.
import { StoreError } from '../record/paths'

/** One or two sentences: what happened, and what to do. Anything unforeseen keeps its own words. */
export function troubleInWords(error: unknown): string {
  const { code, path, dest = path } = error as Partial<NodeJS.ErrnoException> & { readonly dest?: string }
  const where = dest === undefined ? '' : ` (${dest})`
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
    case 'EISDIR':
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENXIO':
      return `Something else stands where a file or folder of Coxswain belongs${where}. Move it away, then try again.`
    default: {
      const words = error instanceof Error ? error.message : String(error)
      return code === undefined ? words : `The system refused it: ${words}.`
    }
  }
}

/** What the system refused, or what is not as it must be in a store: words help a person there, and a stack does not. */
export function isForeseen(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof StoreError) return true
  return typeof (error as NodeJS.ErrnoException).errno === 'number' || isForeseen(error.cause)
}
