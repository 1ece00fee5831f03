// How the keeper writes its own small files: whole or not at all, 0600 from creation whatever the umask.
import { closeSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

function writeWhole(path: string, text: string, durable: boolean): void {
  const fd = openSync(path, 'wx', 0o600)
  try {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    if (durable) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

let asides = 0
const aside = (path: string): string => `${path}.${process.pid}-${++asides}.tmp`

function removeQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    return
  }
}

/** Replaces `path` with `text`, durably; on an error the former content stays. */
export function writeAtomic(path: string, text: string): void {
  const temporary = aside(path)
  try {
    writeWhole(temporary, text, true)
    renameSync(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/**
 * Creates `path` with its whole content, or answers false because it exists: exactly one creator wins. Not fsynced: it
 * says that a process runs, and no process outlives a power cut.
 */
export function createExclusively(path: string, text: string): boolean {
  const temporary = aside(path)
  writeWhole(temporary, text, false)
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    removeQuietly(temporary)
  }
}
