// The manifest held against the code: what VS Code offers before any of our code runs must be true afterwards.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Child } from '../../../src/core/child'
import { toolDescription, toolName } from '../../../src/parent/delegateTask'
import { inputJsonSchema } from '../../../src/parent/wish'
import { facets } from '../../../src/ui/present/actions'
import { milestones, reached } from '../../../src/ui/present/milestones'
import { attempt, child, ended, question, steer, verdict } from './children'

const root = path.join(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
interface Item {
  command: string
  when?: string
  group?: string
}
const manifest = JSON.parse(read('package.json'))
const { contributes, capabilities } = manifest
const commands: { command: string; category: string; title: string }[] = contributes.commands
const menus: Record<string, Item[]> = contributes.menus
const words = JSON.parse(read('package.nls.json')) as Record<string, string>

test('every string of the manifest is localisable, and no string is left over', () => {
  const used = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? '')
  expect([...new Set(used)].sort()).toEqual(Object.keys(words).sort())
})

test('every command of the manifest is registered, every registered one is in the manifest', () => {
  const files = readdirSync(path.join(root, 'src/ui'), { recursive: true, encoding: 'utf8' })
  const registered = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...read(`src/ui/${file}`).matchAll(/^ {2}(?:command|flag)\(\s*'(\w+)'/gm)])
    .map(([, name]) => name)
  expect(registered.map((name) => `coxswain.${name}`).sort()).toEqual(commands.map(({ command }) => command).sort())
  for (const { category, title } of commands) {
    expect(category).toBe('Coxswain')
    // Sentence case.
    expect(words[title.slice(1, -1)]).toMatch(/^[A-Z][^A-Z]*$/)
  }
})

test('menus, keys and welcomes name only commands that exist', () => {
  const known = new Set(commands.map(({ command }) => command))
  const named = [
    ...Object.values(menus).flatMap((items) => items.map(({ command }) => command)),
    ...[
      ...Object.values(words)
        .join()
        .matchAll(/command:(coxswain\.\w+)/g),
    ].map(([, command]) => command ?? ''),
    ...contributes.keybindings.flatMap((key: { args: { commands: string[] } }) =>
      key.args.commands.filter((command) => command.startsWith('coxswain.')),
    ),
  ]
  expect(named.filter((command) => !known.has(command))).toEqual([])
})

test('a key in the tree selects the focused row first, so that it never acts on another', () => {
  for (const key of contributes.keybindings) {
    expect(key.command).toBe('runCommands')
    expect(key.args.commands[0]).toBe('list.selectAndPreserveFocus')
    expect(key.when).toContain("focusedView == 'coxswain.children'")
    expect(key.when).toContain('!inputFocus')
  }
})

test('commands that mean nothing from the palette are not offered there', () => {
  const hidden = menus['commandPalette']?.filter(({ when }) => when === 'false').map(({ command }) => command)
  expect(hidden?.sort()).toEqual([
    'coxswain.addComment',
    'coxswain.copyEntry',
    'coxswain.deleteComment',
    'coxswain.editReviewedFile',
    'coxswain.openSelected',
    'coxswain.steerSelected',
  ])
})

/** The inline actions of a row, left to right. */
function inline(over: Partial<Child>): string {
  const item = facets(child(over)).join(' ')
  return (menus['view/item/context'] ?? [])
    .filter(({ group, when }) => group?.startsWith('inline') === true && holds(when ?? '', item))
    .sort((a, b) => (a.group ?? '').localeCompare(b.group ?? ''))
    .map(({ command }) => command.replace('coxswain.', ''))
    .join(' ')
}
function holds(when: string, item: string): boolean {
  return when.split(' && ').every((clause) => {
    const match = /^(!?)\(?viewItem =~ \/(.+)\/\)?$/.exec(clause)
    return match === null || new RegExp(match[2] ?? '').test(item) !== (match[1] === '!')
  })
}

/** Whether a row's menu has an entry. */
const inMenu = (command: string, over: Partial<Child>): boolean =>
  (menus['view/item/context'] ?? []).some(
    ({ command: each, when }) => each === `coxswain.${command}` && holds(when ?? '', facets(child(over)).join(' ')),
  )

test.each<[string, Partial<Child>, string[]]>([
  ['runs', {}, ['attachFiles', 'automate']],
  ['runs and is steered automatically', { automaticSteering: true }, ['attachFiles', 'dontAutomate']],
  ['is paused', { phase: 'INTERRUPTED', paused: true }, ['attachFiles']],
  ['is done', ended('SUCCESS'), ['attachFiles']],
  ['was discarded', ended('SUCCESS', { discarded: true }), []],
])('the menu of a child that %s has files and automatic steering as far as they do something', (_what, over, shown) => {
  expect(['attachFiles', 'automate', 'dontAutomate'].filter((command) => inMenu(command, over))).toEqual(shown)
})

/** What a row's menu offers to do to it, from the top. */
function menuActs(over: Partial<Child>): string {
  const place = ({ group }: Item): number => Number(group?.split('@')[1])
  return (menus['view/item/context'] ?? [])
    .filter(
      ({ group, when }) => group?.startsWith('1_act') === true && holds(when ?? '', facets(child(over)).join(' ')),
    )
    .sort((a, b) => place(a) - place(b))
    .map(({ command }) => command.replace('coxswain.', ''))
    .join(' ')
}

test.each<[string, Partial<Child>, string]>([
  ['runs', {}, 'steer attachFiles automate pause stop'],
  ['asks', { requests: [question()] }, 'answerNext steer attachFiles automate pause stop'],
  ['is paused', { phase: 'INTERRUPTED', paused: true }, 'attachFiles resume stop'],
])('in the menu of a child that %s steering stands together, and what ends it last', (_what, over, shown) => {
  expect(menuActs(over)).toBe(shown)
})

test('the sign of stopping is no empty square, which in a row of a tree is a box to tick', () => {
  const signs = (contributes.commands as { command: string; icon?: string }[]).flatMap(({ icon }) => icon ?? [])
  expect(signs.filter((icon) => /debug-stop|primitive-square/.test(icon))).toEqual([])
})

test.each<[string, Partial<Child>, string]>([
  ['runs', {}, 'steer pause stop'],
  ['asks', { requests: [question()] }, 'answerNext pause stop'],
  ['is preparing', { phase: 'PENDING', attempts: [], worktree: null }, 'steer stop'],
  ['is paused', { phase: 'INTERRUPTED', paused: true }, 'reviewChanges resume stop'],
  ['is being stopped', { phase: 'CANCEL_REQUESTED' }, ''],
  ['is done', ended('SUCCESS'), 'reviewChanges resume'],
  ['is out of sight', { phase: 'UNKNOWN', attempts: [attempt()] }, ''],
])('the row of a child that %s has at most three actions, by state', (_what, over, shown) => {
  expect(inline(over)).toBe(shown)
  expect(shown.split(' ').length).toBeLessThanOrEqual(3)
})

test('an untrusted folder can set nothing, and a repository can choose no program, environment or autonomy', () => {
  const settings = Object.assign(
    {},
    ...contributes.configuration.map((part: { properties: object }) => part.properties),
  )
  expect(capabilities.untrustedWorkspaces.supported).toBe('limited')
  expect(capabilities.untrustedWorkspaces.restrictedConfigurations.sort()).toEqual(Object.keys(settings).sort())
  const settableByRepository = Object.keys(settings).filter((key) => settings[key].scope !== 'machine')
  expect(settableByRepository.sort()).toEqual(['coxswain.childTimeoutSeconds', 'coxswain.independentCompletions'])
  for (const key of Object.keys(settings)) {
    expect(settings[key].order, key).toBeTypeOf('number')
    expect(settings[key].default, key).toBeDefined()
    if (settings[key].enum !== undefined)
      expect(settings[key].markdownEnumDescriptions, key).toHaveLength(settings[key].enum.length)
  }
})

test('the walkthrough ticks off what has happened, not what was asked for', () => {
  const [walk] = contributes.walkthroughs as { steps: { id: string; completionEvents: string[] }[] }[]
  const events = walk?.steps.flatMap(({ completionEvents }) => completionEvents)
  expect(events).toEqual([
    'onCommand:coxswain.checkAgents',
    ...milestones.map((name) => `onContext:coxswain.done.${name}`),
  ])
  const endRequest = { cause: 'stop' as const, reason: '', by: { kind: 'person' as const }, at: '' }
  expect(reached(child({ attempts: [] }))).toEqual([])
  expect(reached(child({ steers: [steer()] }))).toEqual(['dispatched'])
  expect(
    reached(
      child({ steers: [steer({ state: 'delivered' })], attempts: [attempt({ endRequest })], verdict: verdict() }),
    ),
  ).toEqual(['dispatched', 'steered', 'controlled', 'verified'])
})

test('files the manifest points at exist', () => {
  const icons = [contributes.viewsContainers.activitybar[0].icon, contributes.views.coxswain[0].icon]
  const pages = contributes.walkthroughs.flatMap((walk: { steps: { media: { markdown: string } }[] }) =>
    walk.steps.map(({ media }) => media.markdown),
  )
  expect([...icons, ...pages].filter((file: string) => !existsSync(path.join(root, file)))).toEqual([])
})

test('each state without children has its welcome with one button, and none shows before activation', () => {
  for (const { when, contents } of contributes.viewsWelcome as { when: string; contents: string }[]) {
    expect(when).toMatch(/^coxswain\.ready && (?:coxswain\.state == '\w+'$|coxswain\.severalFolders && )/)
    expect((words[contents.slice(1, -1)] ?? '').match(/\]\(command:/g)).toHaveLength(1)
  }
})

test('the chat-s tool is the one every parent gets, word for word', () => {
  const [tool, ...more] = contributes.languageModelTools
  expect(more).toEqual([])
  expect([tool.name, tool.modelDescription, tool.inputSchema]).toEqual([toolName, toolDescription, inputJsonSchema()])
  expect(tool.when).toBe("config.coxswain.chatAccess == 'tool'")
  expect(contributes.mcpServerDefinitionProviders.map(({ id }: { id: string }) => id)).toEqual(['coxswain.parents'])
})

test('in a menu the place of every item is a whole number: VS Code puts others before all', () => {
  const items = Object.values(contributes.menus as Record<string, { group?: string }[]>).flat()
  expect(items.map(({ group }) => group ?? '').filter((group) => !/^\w*(?:@\d+)?$/.test(group))).toEqual([])
})
