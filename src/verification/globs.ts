// Which paths a contract's globs mean. The one place that knows the glob library.
import picomatch from 'picomatch'

/**
 * True for paths (relative, `/`) that one of the globs matches. Case counts, dot files are files like any other, and a
 * glob without wildcards that names a folder means everything below it.
 */
export function globMatcher(globs: readonly string[]): (path: string) => boolean {
  const spelled = globs.map((glob) => glob.replace(/^(\.\/)+/, '').replace(/\/$/, '/**'))
  const plain = spelled.filter((glob) => !picomatch.scan(glob).isGlob)
  const matches = picomatch(spelled, { dot: true, nonegate: true, strictSlashes: true })
  return (path) => matches(path) || plain.some((folder) => path === folder || path.startsWith(`${folder}/`))
}

/** For each glob the folder or file that everything it matches lies in; '' when that is the top. */
export function globBases(globs: readonly string[]): string[] {
  return globs.map((glob) => {
    const { base } = picomatch.scan(glob.replace(/^(\.\/)+/, '').replace(/\/$/, ''))
    return base === '.' ? '' : base.replace(/\/$/, '')
  })
}
