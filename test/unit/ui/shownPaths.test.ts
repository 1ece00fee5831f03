// A folder that was opened through a link: the window's path of a file and the one on disk are the same file.
import { expect, test } from 'vitest'
import { placeBelow, placeOf, shownAt } from '../../../src/ui/present/shownPaths'

const linked = [{ shown: '/home/a/link', real: '/data/repo/app' }]

test('a file shown through a link has its place in the repository, and a place is shown under both paths', () => {
  expect(placeOf('/data/repo', linked, '/home/a/link/src/x.js')).toBe('app/src/x.js')
  expect(placeOf('/data/repo', linked, '/data/repo/docs/y.md')).toBe('docs/y.md')
  expect(placeOf('/data/repo', linked, '/home/a/other.md')).toBe(null)
  expect(shownAt('/data/repo', linked, 'app/src/x.js')).toEqual(['/data/repo/app/src/x.js', '/home/a/link/src/x.js'])
  expect(shownAt('/data/repo', linked, 'docs/y.md')).toEqual(['/data/repo/docs/y.md'])
})

test('a name that begins with two dots lies below like any other', () => {
  expect(placeBelow('/r', '/r/..notes')).toBe('..notes')
  expect(placeBelow('/r', '/rest')).toBe(null)
  expect(placeBelow('/r', '/r')).toBe(null)
})
