// The last words of an agent on stderr, for diagnostics: bounded, read from the end, whatever the size of the rest.
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { attemptFiles, segmentName, segmentStarts } from './attemptFiles'

const tailBytes = 16 * 1024
const tailLines = 20

/** At most 20 lines from the last 16 KiB; the first may be cut at its start. Empty when there are none. */
export async function stderrTail(attemptDir: string): Promise<string[]> {
  const rawDir = attemptFiles(attemptDir).raw
  const starts = segmentStarts(await readdir(rawDir).catch(() => []), 'stderr')
  const parts: Buffer[] = []
  let wanted = tailBytes
  for (const start of starts.reverse()) {
    if (wanted === 0) break
    const part = await readEnd(join(rawDir, segmentName('stderr', start)), wanted)
    if (part === undefined) break
    parts.unshift(part)
    wanted -= part.length
  }
  return lastLines(Buffer.concat(parts))
}

/** At most 20 lines from the last 16 KiB of these bytes. */
export function lastLines(all: Buffer): string[] {
  const bytes = all.subarray(-tailBytes)
  // The cut may have fallen inside a character.
  let from = 0
  while (from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
  const lines = bytes.toString('utf8', from).split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines.slice(-tailLines)
}

async function readEnd(path: string, byteCount: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      const length = Math.min(size, byteCount)
      const bytes = Buffer.alloc(length)
      const { bytesRead } = await file.read(bytes, 0, length, size - length)
      return bytes.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}
