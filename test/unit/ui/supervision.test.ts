// A window on a folder that is no repository yet, with a clock of its own: git's words come when the test says.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Supervision, type Opened } from '../../../src/ui/supervision'

const told = vi.hoisted(() => ({ changed: (_uri: { path: string }): void => undefined }))
vi.mock('vscode', async () => {
  const { fakeVscode } = await import('./fakeVscode')
  const nothing = { dispose: () => undefined }
  return {
    EventEmitter: fakeVscode.EventEmitter,
    Disposable: { from: () => nothing },
    RelativePattern: class {},
    l10n: { t: (text: string) => text },
    window: { onDidChangeWindowState: () => nothing },
    workspace: {
      isTrusted: true,
      workspaceFolders: [{ uri: { scheme: 'file', fsPath: '/here' } }],
      createFileSystemWatcher: () => ({
        onDidCreate: () => nothing,
        onDidChange: (listener: (uri: { path: string }) => void) => {
          told.changed = listener
          return nothing
        },
      }),
    },
  }
})

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

it('a first commit is noticed also when it is told of while a former look is under way', async () => {
  const looks: ((opened: Opened) => void)[] = []
  const opener = { open: () => new Promise<Opened>((resolve) => looks.push(resolve)) }
  const supervision = new Supervision(opener as never, console as never, { get: () => undefined } as never)
  const unborn = { kind: 'closed', why: 'noCommit', message: 'no commit yet' } as const
  void supervision.open()
  looks[0]?.(unborn)
  await vi.advanceTimersByTimeAsync(0)
  expect(supervision.state).toBe('noCommit')

  const commit = { path: '/here/.git/refs/heads/main' }
  told.changed({ path: '/here/.git/HEAD' })
  await vi.advanceTimersByTimeAsync(1_000)
  told.changed(commit)
  await vi.advanceTimersByTimeAsync(1_000)
  looks[1]?.(unborn)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(looks).toHaveLength(3)
  supervision.dispose()
})
