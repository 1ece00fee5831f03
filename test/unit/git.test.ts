import { describe, expect, it } from 'vitest'
import { atLeast, gitEnvironment, minimumGitVersion, parseVersion } from '../../src/git/git'
import { cover, describeLosses } from '../../src/git/discard'
import { parseBatch, parsePointer } from '../../src/git/largeFiles'
import { rootName, shortId, slug } from '../../src/git/names'
import {
  namesProgram,
  ownFilters,
  programsFingerprint,
  type Setting,
  withoutRepositoryPrograms,
} from '../../src/git/programs'
import { type ChangedFile, overlaps, parseRawNumstat } from '../../src/git/review'
import { isWithin, parseWorktreeList } from '../../src/git/worktree'

describe('names', () => {
  it('keep the ASCII words of a title, short, or say child', () => {
    const titles = [
      'Fix the Parser!',
      '  Ünïcode — ok ',
      '--upload-pack=x',
      '$(id)',
      '計画',
      '',
      'a..b',
      'x.lock',
      'w'.repeat(99),
      'seven words that go on and on and on',
    ]
    expect(titles.map(slug)).toEqual([
      'fix-the-parser',
      'unicode-ok',
      'upload-pack-x',
      'id',
      'child',
      'child',
      'a-b',
      'x-lock',
      'w'.repeat(32),
      'seven-words-that-go-on-and-on-an',
    ])
  })

  it('carry the random end of an id, and nothing of it but letters and digits', () => {
    expect(['c1', 'ABC-123', '01890a5d-ac96-774b-bcce-b302099a8057', '../..', '!'].map(shortId)).toEqual([
      'c1',
      'abc123',
      '099a8057',
      '0',
      '0',
    ])
  })

  it('leave room for our suffix in the longest folder name, without cutting a character', () => {
    for (const name of ['x'.repeat(255), '計'.repeat(85), '🚣'.repeat(63), 'ordinary']) {
      const made = rootName(name)
      expect(Buffer.byteLength(made)).toBeLessThanOrEqual(200)
      expect(made).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/)
      expect(made.endsWith('.coxswain')).toBe(true)
    }
  })
})

describe('the environment of git', () => {
  it('has no GIT_* of its surroundings, asks nobody, and lets no current folder choose a program', () => {
    const made = gitEnvironment({
      PATH: 'relative:/usr/bin::.:/bin',
      HOME: '/home/ann',
      GIT_DIR: '/elsewhere',
      git_work_tree: '/elsewhere',
      GIT_CONFIG_COUNT: '1',
      LANG: 'de_DE.UTF-8',
      LC_MESSAGES: 'de',
      SSH_ASKPASS: '/bin/ask',
      EDITOR: 'vi',
      SSH_AUTH_SOCK: '/run/agent',
    })
    expect(made).toEqual({
      PATH: '/usr/bin:/bin',
      HOME: '/home/ann',
      SSH_AUTH_SOCK: '/run/agent',
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS_REQUIRE: 'never',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_LITERAL_PATHSPECS: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_GRAFT_FILE: '/dev/null',
      GIT_PAGER: 'cat',
      GIT_EDITOR: 'false',
    })
  })

  it('is of a version that is compared by number, whoever built it', () => {
    const said = [
      'git version 2.39.5 (Apple Git-154)',
      'git version 2.55.0.rc1',
      'git version 2.34.1',
      'git version 2.9.5',
      'git version 3.0',
      'hub version 2',
      '',
    ]
    expect(said.map((text) => parseVersion(text)?.text)).toEqual([
      '2.39.5',
      '2.55.0',
      '2.34.1',
      '2.9.5',
      '3.0',
      undefined,
      undefined,
    ])
    expect(said.map(parseVersion).map((version) => version && atLeast(version, minimumGitVersion))).toEqual([
      true,
      true,
      true,
      false,
      true,
      null,
      null,
    ])
  })
})

describe("a repository's own configuration", () => {
  const setting = (key: string, value: string, scope = 'local'): Setting => ({ key, value, scope })

  it('has every program it names put out of action, the person’s own put back', () => {
    const off = withoutRepositoryPrograms([
      setting('filter.lfs.smudge', 'git-lfs smudge', 'global'),
      setting('filter.lfs.required', 'true', 'global'),
      setting('credential.helper', 'store', 'global'),
      setting('filter.lfs.smudge', 'evil'),
      setting('filter.a=b.process', 'evil', 'worktree'),
      setting('credential.helper', '!evil'),
      setting('hook.x.command', 'evil'),
      setting('core.sshcommand', 'evil'),
      setting('remote.origin.uploadpack', 'evil'),
      setting('merge.x.driver', 'evil'),
      setting('user.name', 'Ann'),
    ])
    expect(off).toEqual([
      ['filter.lfs.smudge', 'git-lfs smudge'],
      ['filter.a=b.process', ''],
      ['filter.a=b.required', 'false'],
      ['credential.helper', ''],
      ['credential.helper', 'store'],
      ['hook.x.enabled', 'false'],
      ['hook.x.command', 'true'],
      ['core.sshcommand', 'ssh'],
      ['remote.origin.uploadpack', 'git-upload-pack'],
      ['merge.x.driver', 'false'],
    ])
    expect(off.map(([, value]) => value)).not.toContain('evil')
  })

  it('is consented to as exactly these programs', () => {
    const one = [setting('filter.x.clean', 'a'), setting('user.name', 'Ann')]
    expect(programsFingerprint([setting('user.name', 'Ann'), setting('filter.x.clean', 'a', 'global')])).toBeNull()
    expect(programsFingerprint(one)).toBe(programsFingerprint([...one, setting('user.email', 'x')]))
    expect(programsFingerprint(one)).not.toBe(programsFingerprint([setting('filter.x.clean', 'b')]))
    expect(programsFingerprint(one)).not.toBe(programsFingerprint([...one, setting('core.fsmonitor', 'x')]))
  })

  it('is searched for programs under every name they have', () => {
    const programs = [
      'core.fsmonitor',
      'core.hookspath',
      'diff.external',
      'diff.x.y.textconv',
      'filter.a.process',
      'alias.st',
      'gpg.ssh.program',
      'include.path',
      'includeif.gitdir:/x.path',
      'hook.a.b.command',
      'core.worktree',
      'url.x.insteadof',
      'lfs.customtransfer.a.path',
    ]
    expect(programs.filter((key) => !namesProgram(key))).toEqual([])
    expect(
      ['core.autocrlf', 'user.name', 'filter.a.required', 'branch.main.merge', 'remote.origin.url'].filter(
        namesProgram,
      ),
    ).toEqual([])
  })

  it('does not count as the person’s filters', () => {
    expect(
      ownFilters([
        setting('filter.lfs.smudge', 'git-lfs smudge -- %f', 'global'),
        setting('filter.lfs.process', 'git-lfs filter-process', 'global'),
        setting('filter.lfs.required', 'true', 'system'),
        setting('filter.evil.process', 'evil'),
      ]),
    ).toEqual([{ name: 'lfs', command: 'git-lfs filter-process', required: true }])
  })
})

describe("git's answers", () => {
  it('about worktrees are read whole, line breaks in paths included', () => {
    const entry = (...fields: string[]) => `${fields.join('\0')}\0\0`
    const text =
      entry('worktree /a', 'HEAD 1', 'branch refs/heads/main') +
      entry('worktree /b\nc', 'HEAD 2', 'detached', 'locked on a\nstick') +
      entry('worktree /d', 'HEAD 3', 'branch refs/heads/x', 'locked', 'prunable gone') +
      entry('worktree /e', 'bare')
    expect(parseWorktreeList(text)).toEqual([
      { path: '/a', head: '1', branch: 'refs/heads/main', bare: false, locked: null, prunable: false },
      { path: '/b\nc', head: '2', branch: null, bare: false, locked: 'on a\nstick', prunable: false },
      { path: '/d', head: '3', branch: 'refs/heads/x', bare: false, locked: '', prunable: true },
      { path: '/e', head: null, branch: null, bare: true, locked: null, prunable: false },
    ])
    expect(parseWorktreeList('')).toEqual([])
  })

  it('about changes are joined with their counts, renames and binaries too', () => {
    const id = (digit: string) => digit.repeat(40)
    const text = [
      `:100644 100644 ${id('1')} ${id('0')} M`,
      'a\tb.txt',
      `:100644 000000 ${id('2')} ${id('0')} D`,
      'gone',
      `:100644 100644 ${id('3')} ${id('4')} R090`,
      'old',
      'new',
      `:000000 120000 ${id('0')} ${id('5')} A`,
      'link',
      `:100644 100644 ${id('6')} ${id('0')} M`,
      'image.png',
      `:160000 160000 ${id('7')} ${id('8')} M`,
      'sub',
      '1\t2\ta\tb.txt',
      '0\t3\tgone',
      '1\t1\t',
      'old',
      'new',
      '1\t0\tlink',
      '-\t-\timage.png',
      '1\t1\tsub',
      '',
    ].join('\0')
    const { files, blobs } = parseRawNumstat(text)
    expect(files).toEqual([
      { path: 'a\tb.txt', kind: 'modified', insertions: 1, deletions: 2, binary: false },
      { path: 'gone', kind: 'deleted', insertions: 0, deletions: 3, binary: false },
      { path: 'new', from: 'old', kind: 'renamed', insertions: 1, deletions: 1, binary: false },
      { path: 'link', kind: 'added', insertions: 1, deletions: 0, binary: false, special: 'link' },
      { path: 'image.png', kind: 'modified', insertions: null, deletions: null, binary: true },
      { path: 'sub', kind: 'modified', insertions: 1, deletions: 1, binary: false, special: 'repository' },
    ])
    expect(blobs.get('a\tb.txt')).toBe(id('1'))
  })

  it('about blobs are cut where they say, whatever is in them', () => {
    const blob = 'x\ny blob 3\n'
    const output = Buffer.from(
      `${'a'.repeat(40)} blob ${blob.length}\n${blob}\n${'b'.repeat(40)} missing\n${'c'.repeat(40)} blob 0\n\n`,
    )
    expect([...parseBatch(output)].map(([name, content]) => [name[0], content.toString()])).toEqual([
      ['a', blob],
      ['c', ''],
    ])
  })

  it('about large files are pointers only when they are exactly that', () => {
    const oid = '4d'.repeat(32)
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 12345\n`
    expect(parsePointer(Buffer.from(pointer))).toEqual({ oid, size: 12345 })
    for (const other of [
      '',
      pointer.slice(1),
      pointer.replace('sha256', 'md5'),
      pointer.replace('12345', '-1'),
      `${pointer}${'x'.repeat(1024)}`,
    ]) {
      expect(parsePointer(Buffer.from(other))).toBeNull()
    }
  })
})

describe('what would be lost', () => {
  it('is named in at most a hundred names that still cover everything', () => {
    const names = Array.from({ length: 5_000 }, (_, n) => `src/${n % 7}/deep/${n % 90}/file-${n}`).concat([
      'top.txt',
      'cache/',
    ])
    const kept = cover(names)
    expect(kept.length).toBeLessThanOrEqual(100)
    expect(kept).toEqual(expect.arrayContaining(['top.txt', 'cache/']))
    for (const name of names)
      expect(kept.some((one) => one === name || (one.endsWith('/') && name.startsWith(one)))).toBe(true)
    expect(cover(['b', 'a', 'a'])).toEqual(['a', 'b'])
    expect(cover(Array.from({ length: 150 }, (_, n) => `f${n}`))).toHaveLength(150)
  })

  it('is a sentence', () => {
    expect(
      describeLosses([
        { kind: 'uncommitted', names: ['a', 'b', 'c', 'd'], count: 4 },
        { kind: 'commits', names: [`${'5ef02a931445'.padEnd(40, '0')} fix`], count: 1 },
      ]),
    ).toBe('4 changed files (a, b, c, …) and 1 commit that is on no other branch (5ef02a931445 fix)')
  })
})

it('children that changed the same file are found, by either of its names', () => {
  const file = (path: string, from?: string): ChangedFile => ({
    path,
    ...(from === undefined ? {} : { from }),
    kind: from === undefined ? 'modified' : 'renamed',
    insertions: 1,
    deletions: 0,
    binary: false,
  })
  const found = overlaps(
    new Map([
      ['one', [file('a'), file('b')]],
      ['two', [file('c', 'a')]],
      ['three', [file('d')]],
    ]),
  )
  expect([...found]).toEqual([['a', ['one', 'two']]])
})

it('a path is inside a folder by its parts, not by its letters', () => {
  const inside = ['/a/b', '/a/b/c', '/a/b/..c', '/a/b/...'].map((path) => isWithin('/a/b', path))
  const outside = ['/a/bc', '/a', '/', '/a/c', '/a/b/../c'].map((path) => isWithin('/a/b', path))
  expect([inside, outside]).toEqual([
    [true, true, true, true],
    [false, false, false, false, false],
  ])
})
