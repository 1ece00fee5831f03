// The names we give: branch, folder, title. Pure. A name never comes from a person or a model unchanged, because git
// accepts `$(id)`, a leading dash after `--`, an ideographic space and 300 letters, and other programs do not.

/** What a branch or folder name may keep of a title: lower-case ASCII letters and digits joined by single dashes, at most 32, or 'child'. */
export function slug(title: string): string {
  const words = title
    .slice(0, 1_000)
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  const joined = (words ?? []).join('-').slice(0, 32).replace(/-+$/, '')
  return joined === '' ? 'child' : joined
}

/** The short form of a child's id that its branch and folder carry: its last eight letters and digits, the random end of every id we make. */
export function shortId(childId: string): string {
  const plain = childId.toLowerCase().replace(/[^a-z0-9]/g, '')
  return plain.length <= 12 ? plain || '0' : plain.slice(-8)
}

/** A repository's folder name, cut so that our suffix still fits in the 255 bytes of a file name. */
export function rootName(repositoryName: string): string {
  let name = repositoryName
  while (Buffer.byteLength(name) > 180) name = name.slice(0, -1)
  return `${name.replace(/[\ud800-\udbff]$/, '')}.coxswain`
}
