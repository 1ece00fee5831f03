/** Something that went wrong in words for a person, as a value. */
export interface Problem {
  readonly kind: 'problem'
  readonly message: string
}

export const problem = (message: string): Problem => ({ kind: 'problem', message })
