// Reads the files of a zip archive, as far as vsix packages need it: no encryption, no zip64.
import { readFileSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'

const endOfDirectory = 0x06054b50
const directoryEntry = 0x02014b50

/**
 * @param file path of the archive
 * @returns the content of every file in it by its name there
 */
export function unzip(file: string): Map<string, Buffer> {
  const bytes = readFileSync(file)
  let end = bytes.length - 22
  while (end >= 0 && bytes.readUInt32LE(end) !== endOfDirectory) end -= 1
  if (end < 0) throw new Error(`${file} is not a zip archive`)
  const files = new Map<string, Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) !== directoryEntry) throw new Error(`${file} has a broken directory at ${at}`)
    const deflated = bytes.readUInt16LE(at + 10) === 8
    const size = bytes.readUInt32LE(at + 20)
    const nameLength = bytes.readUInt16LE(at + 28)
    const header = bytes.readUInt32LE(at + 42)
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28)
    const content = bytes.subarray(start, start + size)
    if (!name.endsWith('/')) files.set(name, deflated ? inflateRawSync(content) : content)
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return files
}
