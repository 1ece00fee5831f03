// The git room in figures: what a child's worktree costs beside a bare `git worktree add` and the writing of a record, how
// long many of them take and a list of them, and what copying ignored files costs beside `cp`. Run it with `npm run bench:git`.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { copyIgnored } from '../src/git/copyIgnored'
import { discard } from '../src/git/discard'
import { Git } from '../src/git/git'
import { inspectRepository, type Repository } from '../src/git/repository'
import { status } from '../src/git/review'
import { addWorktree, reconcile, type Worktree } from '../src/git/worktree'
import { median } from './figures'

const run = promisify(execFile)
const rounds = 15
const many = Number(process.env['COXSWAIN_MANY'] ?? 200)
const root = realpathSync(mkdtempSync(join(tmpdir(), 'coxswain-bench-git-')))
const environment = { PATH: process.env['PATH'] ?? '', HOME: root }

const say = (name: string, text: string): void => console.log(`${name.padEnd(28)} ${text}`)
const ms = async (act: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await act()
  return performance.now() - started
}
const sh = async (cwd: string, ...args: string[]): Promise<string> =>
  (await run('git', args, { cwd, env: environment, maxBuffer: 1 << 28 })).stdout.trim()

async function repository(name: string, files: number): Promise<Repository> {
  const folder = join(root, name)
  for (let n = 0; n < files; n++) {
    const path = join(folder, `src/${n % 50}/f${n}.ts`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${'line\n'.repeat(40)}${n}\n`)
  }
  writeFileSync(join(folder, '.gitignore'), 'deps/\n')
  await sh(folder, 'init', '-q', '-b', 'main')
  await sh(folder, 'add', '-A')
  await sh(folder, 'commit', '-q', '-m', 'first')
  const found = await inspectRepository(gitOf(name), folder)
  if (found.kind === 'problem') throw new Error(found.message)
  return found
}

const gitOf = (store: string, executable?: string): Git => {
  const path = join(root, `store-${store}`)
  mkdirSync(path, { recursive: true })
  return new Git({ environment, store: path, ...(executable === undefined ? {} : { executable }) })
}

async function made(git: Git, inside: Repository, childId: string): Promise<Worktree> {
  const added = await addWorktree(git, { repository: inside, childId, title: 'bench' })
  if (added.kind === 'problem') throw new Error(`${added.message} ${added.detail ?? ''}`)
  return added
}

/** A bare `worktree add` of a new branch, and a record of a few small files. */
async function bare(inside: Repository, n: number): Promise<string> {
  const path = join(root, `bare-${inside.head.commit.slice(0, 6)}-${n}`)
  await sh(inside.topLevel, 'worktree', 'add', '-q', '-b', `bare-${n}`, path)
  for (const name of ['config', 'made.json', 'HEAD', 'marker'])
    await writeFile(join(root, `record-${name}`), `${path}\n`, { mode: 0o600 })
  return path
}

async function create(files: number): Promise<void> {
  const inside = await repository(`create-${files}`, files)
  const git = gitOf(`create-${files}`)
  const ratios: number[] = []
  const ours: number[] = []
  const theirs: number[] = []
  for (let n = 0; n < rounds; n++) {
    const first = n % 2 === 0
    let own = 0
    if (first) own = await ms(() => made(git, inside, `c${1000 + n}`))
    const plain = await ms(() => bare(inside, n))
    if (!first) own = await ms(() => made(git, inside, `c${1000 + n}`))
    ours.push(own)
    theirs.push(plain)
    ratios.push(own / plain)
  }
  const counter = join(root, `counter-${files}`)
  const counting = join(root, `git-counted-${files}`)
  writeFileSync(counting, `#!/bin/sh\nprintf . >>'${counter}'\nexec git "$@"\n`, { mode: 0o755 })
  await made(gitOf(`counted-${files}`, counting), inside, 'c9999')
  const calls = readFileSync(counter, 'utf8').length
  say(
    `worktree of ${files} files`,
    `ours ${median(ours).toFixed(0)} ms  bare add + record ${median(theirs).toFixed(0)} ms  ratio ${median(ratios).toFixed(2)}  git started ${calls} times`,
  )
}

async function crowd(): Promise<void> {
  const inside = await repository('crowd', 300)
  const git = gitOf('crowd')
  const all: Worktree[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < many) all.push(await made(git, inside, `m${String(next++).padStart(4, '0')}`))
  }
  const creating = await ms(() => Promise.all(Array.from({ length: 20 }, worker)))
  const branches = (await sh(inside.topLevel, 'for-each-ref', '--format=%(refname)', 'refs/heads/coxswain/')).split(
    '\n',
  )
  say(
    `${many} creates, 20 at a time`,
    `${(creating / many).toFixed(0)} ms each  failures 0  branches ${branches.length}`,
  )
  const plain = await ms(() => sh(inside.topLevel, 'worktree', 'list', '--porcelain'))
  const listing = await ms(() => reconcile(git, inside.commonDir, all))
  say(`list of ${many} worktrees`, `${listing.toFixed(0)} ms  bare worktree list ${plain.toFixed(0)} ms`)
  for (const which of ['first', 'again']) {
    const asking = await ms(() => Promise.all(all.map((worktree) => status(git, worktree))))
    say(`changes of all ${many}, ${which}`, `${asking.toFixed(0)} ms, ${(asking / many).toFixed(1)} ms each`)
  }
  const removing = await ms(async () => {
    for (const worktree of all) {
      const gone = await discard(git, worktree)
      if (gone.kind !== 'discarded') throw new Error(gone.message)
    }
  })
  say(`${many} discards`, `${(removing / many).toFixed(0)} ms each`)
}

async function copies(): Promise<void> {
  const inside = await repository('copies', 10)
  const git = gitOf('copies')
  for (let n = 0; n < 5_000; n++) {
    const path = join(inside.topLevel, `deps/p${n % 200}/lib/f${n}.js`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'x'.repeat(2_000))
  }
  const ratios: number[] = []
  for (let n = 0; n < 3; n++) {
    const worktree = await made(git, inside, `k${1000 + n}`)
    const own = await ms(async () => {
      const wish = { wanted: (path: string) => path === 'deps', bases: ['deps'] }
      const copied = await copyIgnored(git, inside.topLevel, worktree, wish)
      if (copied.kind === 'problem' || copied.files !== 5_000) throw new Error('not copied')
    })
    const plain = await ms(() => run('cp', ['-a', join(inside.topLevel, 'deps'), join(root, `cp-${n}`)]))
    ratios.push(own / plain)
  }
  say('5,000 ignored files copied', `ours / cp -a ${median(ratios).toFixed(2)}`)
}

async function main(): Promise<void> {
  writeFileSync(join(root, '.gitconfig'), '[user]\n\tname = Bench\n\temail = bench@example.invalid\n')
  try {
    await create(20)
    await create(1_500)
    await crowd()
    await copies()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

void main()
