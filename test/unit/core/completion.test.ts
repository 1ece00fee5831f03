import { describe, expect, it } from 'vitest'
import type { Child } from '../../../src/core/child'
import { completionsOf, noticesOf } from '../../../src/core/completion'
import type { ChildEvent, Fact } from '../../../src/core/events'
import { fold } from '../../../src/core/reduce'
import { accepted, alphabet } from './sample'

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()

/** A child of delegation `d`, from facts and the seconds they are of. */
function member(index: number, facts: readonly (readonly [number, Fact])[], more: object = {}): Child {
  const id = `kid${index}`
  const first = { ...accepted(), childId: id, delegationId: 'd', index, parentSession: 'parent', ...more } as Fact
  const all: (readonly [number, Fact])[] = [[0, first], ...facts]
  const events = all.map(([second, fact], i): ChildEvent => ({ v: 1, seq: i + 1, at: at(second), ...fact }))
  const child = fold(events)
  if (child === undefined || child.misfits > 0) throw new Error(`the facts of ${id} do not fit`)
  return child
}

const { worktree, first, launched, reportOk, exit0, interrupt, stop } = alphabet(1)
const takenBack: Fact = { type: 'stopRequested', reason: 'not recorded', by: { kind: 'coxswain' } }
const begun: (readonly [number, Fact])[] = [
  [1, worktree],
  [1, first],
  [1, launched],
]
const exitPaused = { ...alphabet(1).exitOurs, exit: { ...alphabet(1).exitOurs.exit, firstCause: 'interrupt' } }
const paused = (second: number): (readonly [number, Fact])[] => [
  ...begun,
  [second - 1, interrupt],
  [second, exitPaused],
]
const sent = (index: number, round: number): Fact => ({
  type: 'completionSent',
  completionId: `kid${index}.${round}`,
  round,
})
const acknowledged = (index: number, round: number): Fact => ({
  type: 'completionAcknowledged',
  completionId: `kid${index}.${round}`,
})
const settled = (index: number, second: number): (readonly [number, Fact])[] => [
  ...begun,
  [second - 1, reportOk],
  [second, exit0],
  [second, sent(index, 1)],
]
/** The paused attempt goes on in the same round and ends well. */
const goesOn = (index: number, from: number, to: number): (readonly [number, Fact])[] => [
  [from, { ...alphabet(2).resume, round: 1 }],
  [from, alphabet(2).launched],
  ...(to === 0
    ? []
    : ([
        [to, alphabet(2).reportOk],
        [to, alphabet(2).exit0],
        [to, sent(index, 1)],
      ] as const)),
]

const shown = (children: readonly Child[], session = 'parent') =>
  completionsOf(children, session).map((due) =>
    [
      due.id,
      due.members.map(({ id }) => id).join('+'),
      ...due.pausedLeft.map(({ id }) => `left ${id}`),
      ...(due.acknowledged ? ['acknowledged'] : []),
    ].join(' '),
  )

describe('a batch', () => {
  it('is not held back by a child that is paused while its worktree is set up', () => {
    const { setup, setupPause, setupCalledOff, setupDone } = alphabet(1)
    const before: (readonly [number, Fact])[] = [
      [1, worktree],
      [1, setup],
      [2, setupPause],
      [3, setupCalledOff],
    ]
    const other = member(0, settled(0, 9))
    const told = ({ id, pausedLeft }: ReturnType<typeof completionsOf>[number]) => [
      id,
      pausedLeft.map((left) => left.id),
    ]
    expect(completionsOf([other, member(1, before)], 'parent').map(told)).toEqual([['d.1.0', ['kid1']]])
    // Going on later does not take back what was due, and is told on its own.
    const after = member(1, [
      ...before,
      [20, setup],
      [21, setupDone],
      [22, first],
      [22, launched],
      [23, reportOk],
      [24, exit0],
      [24, sent(1, 1)],
    ])
    expect(completionsOf([other, after], 'parent').map(told)).toEqual([
      ['d.1.0', ['kid1']],
      ['d.1.1', []],
    ])
  })

  it('is told once, when each of its children has settled', () => {
    const [one, other] = [member(0, settled(0, 5)), member(1, settled(1, 9))]
    expect(shown([one, member(1, begun)])).toEqual([])
    expect(shown([other, one])).toEqual(['d.1 kid0+kid1'])
  })

  it('whose dispatch failed half-way is not told at all: its sender was told that nothing began', () => {
    const back = member(0, [
      [1, takenBack],
      [1, sent(0, 1)],
    ])
    expect(shown([back])).toEqual([])
    expect(shown([back, member(0, settled(0, 5)), member(1, settled(1, 9))])).toEqual(['d.1 kid0+kid1'])
  })

  it('is not told before the result is on disk', () => {
    expect(shown([member(0, settled(0, 5).slice(0, -1))])).toEqual([])
  })

  it('in which only paused children are left sends what it has, marked, under an id of its own', () => {
    const children = [member(0, settled(0, 5)), member(1, paused(7)), member(2, settled(2, 3))]
    expect(shown(children)).toEqual(['d.1.0-2 kid0+kid2 left kid1'])
    expect(completionsOf(children, 'parent')[0]?.at).toBe(at(7))
  })

  it('of which all are paused owes nothing', () => {
    expect(shown([member(0, paused(4)), member(1, paused(5))])).toEqual([])
  })

  it('does not take back what was due when the paused child goes on, and tells the rest by itself', () => {
    const one = member(0, settled(0, 5))
    expect(shown([one, member(1, [...paused(4), ...goesOn(1, 8, 0)])])).toEqual(['d.1.0 kid0 left kid1'])
    expect(shown([one, member(1, [...paused(4), ...goesOn(1, 8, 9)])])).toEqual(['d.1.0 kid0 left kid1', 'd.1.1 kid1'])
  })

  it('whose paused child went on before the others had settled is told whole', () => {
    expect(shown([member(0, settled(0, 5)), member(1, [...paused(3), ...goesOn(1, 4, 9)])])).toEqual(['d.1 kid0+kid1'])
  })

  it('whose paused child is called off is told of that as its own', () => {
    const off = member(1, [...paused(4), [8, stop], [8, sent(1, 1)]])
    expect(off.phase).toBe('CANCELLED')
    expect(shown([member(0, settled(0, 5)), off])).toEqual(['d.1.0 kid0 left kid1', 'd.1.1 kid1'])
  })

  it('is acknowledged when each of its children is: half of it is told again, under the same id', () => {
    const half = [member(0, [...settled(0, 5), [9, acknowledged(0, 1)]]), member(1, settled(1, 6))]
    expect(shown(half)).toEqual(['d.1 kid0+kid1'])
    const whole = [half[0] as Child, member(1, [...settled(1, 6), [9, acknowledged(1, 1)]])]
    expect(shown(whole)).toEqual(['d.1 kid0+kid1 acknowledged'])
  })

  it('sends each child-s own where it was asked to, and later rounds per child everywhere', () => {
    const alone = { independentCompletions: true }
    expect(shown([member(0, settled(0, 5), alone), member(1, begun, alone)])).toEqual(['kid0.1 kid0'])
    const again: (readonly [number, Fact])[] = [
      [20, alphabet(2).resume],
      [20, alphabet(2).launched],
      [21, alphabet(2).exit0],
      [21, sent(0, 2)],
    ]
    expect(shown([member(0, [...settled(0, 5), ...again]), member(1, settled(1, 30))])).toEqual([
      'kid0.2 kid0',
      'd.1 kid0+kid1',
    ])
  })
})

describe('a person-s own child', () => {
  const mine = { parentSession: 'person' }
  it('needs no more than to have been looked at since it settled', () => {
    const looked: Fact = { type: 'flagged', seen: true }
    expect(shown([member(0, settled(0, 5), mine)], 'person')).toEqual(['d.1 kid0'])
    expect(shown([member(0, [...settled(0, 5), [6, looked]], mine)], 'person')).toEqual(['d.1 kid0 acknowledged'])
  })
})

describe('a pause', () => {
  const ids = (child: Child): string[] => noticesOf([child], child.parentSession).map(({ id }) => id)
  it('is noticed to a parent once, and not once the round is through', () => {
    expect(ids(member(0, paused(4)))).toEqual(['kid0.paused.1'])
    expect(ids(member(0, [...paused(4), [5, { type: 'noticeAcknowledged', attempt: 1 }]]))).toEqual([])
    expect(ids(member(0, [...paused(4), ...goesOn(0, 8, 0)]))).toEqual(['kid0.paused.1'])
    expect(ids(member(0, [...paused(4), ...goesOn(0, 8, 9)]))).toEqual([])
  })

  it('needs no telling to a person', () => {
    expect(ids(member(0, paused(4), { parentSession: 'person' }))).toEqual([])
  })
})

describe('an adoption', () => {
  const adopted = (second: number): readonly [number, Fact] => [second, { type: 'adopted', by: { kind: 'person' } }]
  const notices = (child: Child, session = 'parent'): string[] => noticesOf([child], session).map(({ id }) => id)

  it('leaves to the former parent what was due before, under the same id, and the rest to the person', () => {
    const [one, other] = [member(0, settled(0, 5)), member(1, [...settled(1, 6), adopted(8)])]
    expect(shown([one, other])).toEqual(['d.1 kid0+kid1'])
    const later = member(1, [...begun, adopted(3), ...settled(1, 6).slice(begun.length)])
    expect(shown([one, later])).toEqual(['d.1.0 kid0'])
    expect(shown([one, later], 'person')).toEqual(['d.1 kid1'])
  })

  it('of the last one at work makes the rest of its batch due at once', () => {
    const children = [member(0, settled(0, 5)), member(1, [...begun, adopted(9)])]
    expect(shown(children)).toEqual(['d.1.0 kid0'])
    expect(completionsOf(children, 'parent')[0]?.at).toBe(at(9))
  })

  it('of a child that was looked at does not take its completion from a former parent that has not heard it', () => {
    const child = member(0, [...settled(0, 5), adopted(8), [9, { type: 'flagged', seen: true }]])
    expect(shown([child])).toEqual(['d.1 kid0'])
  })

  it('is noticed to the former parent once, instead of a pause, and to nobody else', () => {
    const child = member(0, [...paused(4), adopted(8)])
    expect([notices(child), notices(child, 'person'), notices(child, 'other')]).toEqual([['kid0.adopted'], [], []])
    expect(notices(member(0, [...paused(4), adopted(8), [9, { type: 'adoptionAcknowledged' }]]))).toEqual([])
  })
})
