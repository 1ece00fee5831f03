// What a repository's configuration could make git run, and how we keep it from doing so. An agent can write the shared
// `.git/config`, so a program named there is never run by our calls unless the person consented to exactly those settings.
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from './git'

export interface Setting {
  /** `system`, `global`: the person's own. `local`, `worktree`: an agent may have written it. */
  readonly scope: string
  /** Section and name in lower case, the subsection as written. */
  readonly key: string
  readonly value: string
}

/** Every setting git sees from this folder, lowest priority first. Reading settings runs no program. Throws GitFailure. */
export async function readSettings(git: Git, folder: string, gitDir?: string): Promise<Setting[]> {
  const { stdout } = await git.run({
    cwd: folder,
    args: ['config', '--list', '-z', '--show-scope', '--includes'],
    maxBytes: 4 * 1024 * 1024,
    timeoutMs: 10_000,
    ...(gitDir === undefined ? {} : { environment: { GIT_DIR: gitDir } }),
  })
  const fields = stdout.toString('utf8').split('\0')
  const settings: Setting[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const scope = fields[index] ?? ''
    const entry = fields[index + 1] ?? ''
    const cut = entry.indexOf('\n')
    // A key without a value means true.
    settings.push({ scope, key: cut < 0 ? entry : entry.slice(0, cut), value: cut < 0 ? 'true' : entry.slice(cut + 1) })
  }
  return settings.filter(({ scope }) => scope !== 'command')
}

const programKeys = [
  /^filter\..+\.(clean|smudge|process)$/,
  /^(diff\.external|diff\..+\.(command|textconv)|merge\..+\.driver)$/,
  /^core\.(fsmonitor|hookspath|sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand|worktree)$/,
  /^(hook\..+\.command|credential\.(.+\.)?helper|alias\..+|pager\..+|sequence\.editor)$/,
  /^remote\..+\.(uploadpack|receivepack|vcs)$/,
  /^url\..+\.(insteadof|pushinsteadof)$/,
  /^gpg\.(.+\.)?(program|defaultkeycommand)$/,
  /^lfs\.(customtransfer\..+\.path|extension\..+\.(clean|smudge)|standalonetransferagent)$/,
  /^(difftool|mergetool|browser|man|tar|trailer|guitool)\..+\.(cmd|path|command)$/,
  /^(submodule\..+\.update|uploadpack\.packobjectshook|gc\.recentobjectshook|include\.path|includeif\..+\.path)$/,
]

export const namesProgram = (key: string): boolean => programKeys.some((pattern) => pattern.test(key))
const isRepositorys = ({ scope }: Setting): boolean => scope === 'local' || scope === 'worktree'

/** The settings that name a program and come from the repository itself. */
const repositoryPrograms = (settings: readonly Setting[]): Setting[] =>
  settings.filter((setting) => isRepositorys(setting) && namesProgram(setting.key))

/** A name for exactly this set of repository programs, for consent: hex SHA-256, or null when there is none. */
export function programsFingerprint(settings: readonly Setting[]): string | null {
  const programs = repositoryPrograms(settings)
  if (programs.length === 0) return null
  return createHash('sha256')
    .update(JSON.stringify(programs.map(({ key, value }) => [key, value])))
    .digest('hex')
}

/**
 * Settings that put every program the repository names out of action: the person's own value where there is one, else
 * something that does nothing. Pass them with a call that could run one of them.
 */
export function withoutRepositoryPrograms(settings: readonly Setting[]): [key: string, value: string][] {
  const result: [string, string][] = []
  const seen = new Set<string>()
  for (const { key } of repositoryPrograms(settings)) {
    if (seen.has(key)) continue
    seen.add(key)
    const owns = settings.filter((setting) => setting.key === key && !isRepositorys(setting)).map(({ value }) => value)
    const name = key.slice(key.lastIndexOf('.') + 1)
    if (name === 'helper') {
      // Helpers are a list; an empty one starts it anew.
      result.push([key, ''], ...owns.map((value): [string, string] => [key, value]))
    } else if (/^filter\./.test(key)) {
      result.push([key, owns.at(-1) ?? ''])
      const required = `${key.slice(0, key.lastIndexOf('.'))}.required`
      if (owns.length === 0 && !settings.some((setting) => setting.key === required && !isRepositorys(setting))) {
        result.push([required, 'false'])
      }
    } else if (/^hook\./.test(key)) {
      result.push([`${key.slice(0, key.lastIndexOf('.'))}.enabled`, 'false'], [key, owns.at(-1) ?? 'true'])
    } else if (key === 'core.sshcommand') {
      result.push([key, owns.at(-1) ?? 'ssh'])
    } else if (/^(uploadpack|receivepack)$/.test(name)) {
      result.push([key, owns.at(-1) ?? `git-${name === 'uploadpack' ? 'upload-pack' : 'receive-pack'}`])
    } else if (
      /^(core\.(gitproxy|alternaterefscommand)|merge\..*|lfs\..*|.*\.(command|cmd|program|textconv|packobjectshook))$/.test(
        key,
      )
    ) {
      result.push([key, owns.at(-1) ?? 'false'])
    }
  }
  return result
}

/** The filters the person's own configuration defines: name → the program each would start, and whether git insists on it. */
export function ownFilters(settings: readonly Setting[]): { name: string; command: string; required: boolean }[] {
  const filters = new Map<string, { command: string; required: boolean }>()
  for (const { key, value, scope } of settings) {
    const match = /^filter\.(.+)\.(process|smudge|required)$/.exec(key)
    if (!match?.[1] || scope === 'local' || scope === 'worktree') continue
    const filter = filters.get(match[1]) ?? { command: '', required: false }
    if (match[2] === 'required') filter.required = /^(true|yes|on|1)$/i.test(value)
    else if (match[2] === 'process' || filter.command === '') filter.command = value
    filters.set(match[1], filter)
  }
  return [...filters].map(([name, filter]) => ({ name, ...filter }))
}

export interface ConfigFingerprint {
  /** Hex SHA-256 over the shared configuration, the configuration of worktrees, attributes, and the hooks. */
  readonly hash: string
  /** Keys (never values) of settings in the repository that name a program. */
  readonly programs: readonly string[]
  /** Names of hooks that git would run for the person. */
  readonly hooks: readonly string[]
}

const fingerprintBytes = 1024 * 1024

/**
 * What an agent could have changed to make a later git call, ours or the person's, run its code. Take it before a run
 * and compare after; a file that cannot be read safely becomes part of the hash as unreadable, so that it differs.
 */
export async function configFingerprint(git: Git, commonDir: string): Promise<ConfigFingerprint> {
  const hash = createHash('sha256')
  const add = async (name: string, path: string) => {
    let what: string
    try {
      const facts = await lstat(path)
      if (!facts.isFile()) what = facts.isSymbolicLink() ? 'link' : 'special'
      else if (facts.size > fingerprintBytes) what = `long ${facts.size} ${facts.mtimeMs}`
      else
        what = createHash('sha256')
          .update(await readFile(path))
          .digest('hex')
      what += ` ${(facts.mode & 0o111) !== 0}`
    } catch {
      what = 'absent'
    }
    hash.update(JSON.stringify([name, what]))
  }
  await add('config', join(commonDir, 'config'))
  await add('config.worktree', join(commonDir, 'config.worktree'))
  await add('attributes', join(commonDir, 'info/attributes'))
  await add('alternates', join(commonDir, 'objects/info/alternates'))
  for (const name of await names(join(commonDir, 'worktrees'))) {
    const path = join(commonDir, 'worktrees', name, 'config.worktree')
    if (await lstat(path).catch(() => null)) await add(`worktrees/${name}`, path)
  }
  const hooks: string[] = []
  for (const name of await names(join(commonDir, 'hooks'))) {
    if (name.endsWith('.sample')) continue
    hooks.push(name)
    await add(`hooks/${name}`, join(commonDir, 'hooks', name))
  }
  let programs: string[]
  try {
    const named = repositoryPrograms(await readSettings(git, commonDir, commonDir))
    programs = named.map(({ key }) => key)
    // Included files are not among the files above, their settings are here.
    hash.update(JSON.stringify(named))
  } catch {
    programs = []
    hash.update('unreadable')
  }
  return { hash: hash.digest('hex'), programs, hooks }
}

const names = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).sort()
