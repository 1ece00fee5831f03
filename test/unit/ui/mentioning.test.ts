// The @ in the panel's steer input: what is being mentioned, which files may be meant, and the text afterwards.
import { expect, test } from 'vitest'
import { meantFiles } from '../../../src/ui/present/mentioning'
import { mentionAt, withMention } from '../../../webview/transcript/mention'

test('the files that may be meant come by name before folder, beginning before middle, short before long', () => {
  const paths = ['docs/auth/notes.md', 'lib/auth.py', 'auth/x.py', 'lib/oauth.py', 'lib/authors.py', 'README.md']
  expect(meantFiles(paths, 'AUTH')).toEqual([
    'lib/auth.py',
    'lib/authors.py',
    'auth/x.py',
    'lib/oauth.py',
    'docs/auth/notes.md',
  ])
  expect(meantFiles(paths, 'auth', 1)).toEqual(['lib/auth.py'])
  expect(meantFiles(paths, '')[0]).toBe('README.md')
  expect(meantFiles(['a\u202e.md', 'a\n.md', 'a.md', 'a.md'], 'a')).toEqual(['a.md'])
})

test.each<[string, string, string | null]>([
  ['at the beginning', '@', ''],
  ['behind a space', 'Read @lib/au', 'lib/au'],
  ['in an address', 'me@home', null],
  ['behind its end', 'Read @a.md now', null],
])('a mention is typed %s, or not', (_where, text, typed) => {
  expect(mentionAt(text, text.length)?.typed ?? null).toBe(typed)
})

test('the chosen path stands in place of what was typed, and the caret behind it', () => {
  const text = 'Read @li and say'
  const mention = mentionAt(text, 8)
  expect(mention).toEqual({ from: 5, typed: 'li' })
  expect(withMention(text, { from: 5, typed: 'li' }, 'lib/auth.py')).toEqual({
    text: 'Read @lib/auth.py and say',
    caret: 18,
  })
  expect(withMention('@', { from: 0, typed: '' }, 'a.md')).toEqual({ text: '@a.md ', caret: 6 })
})
