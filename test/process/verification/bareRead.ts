// What any safe reader must do, and nothing else: the baseline of the figures of file checks.
import { constants } from 'node:fs'
import { open, readlink } from 'node:fs/promises'

/** Names the file, asks where it is and what it is, opens that, reads, and closes both. */
export async function bareRead(path: string): Promise<void> {
  const named = await open(path, 0o10000000)
  await named.stat()
  await readlink(`/proc/self/fd/${named.fd}`, 'buffer')
  const handle = await open(`/proc/self/fd/${named.fd}`, constants.O_RDONLY | constants.O_NONBLOCK)
  await handle.read(Buffer.alloc(64), 0, 64, 0)
  await handle.close()
  await named.close()
}
