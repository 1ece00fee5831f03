// esbuild turns the import of a style sheet into dist/webview/transcript.css.
declare module '*.css'
