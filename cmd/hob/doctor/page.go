package doctor

import (
	"fmt"
	"strings"
)

// page is docs/doctor.md.
func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, c := range checks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.looks, c.why)
	}
	b.WriteString(pageEnd)
	return b.String()
}

const pageHead = `# What hob doctor checks

This page is made from the checks themselves (` + "`go generate ./...`" + `).

` + "```sh\nhob doctor\nhob doctor --fix\n```" + `

` + "`hob doctor`" + ` needs no running hob. Each check says what it found; a warning or a failure also says why it matters and what to type. A check that cannot run
is skipped, with the reason. Checks that ask a server or the daemon run side by side, and each ends after 5 seconds.

| exit code | meaning |
|---|---|
| 0 | nothing failed; there may be warnings |
| 1 | at least one check failed |

` + "`hob --json doctor`" + ` prints ` + "`{\"ok\", \"checks\"}`" + `. A check has ` + "`name`, `state` (`ok`, `warn`, `fail` or `skip`), `found`, `why`, `mend` (what repairs it) and `fixed`" + ` (what
` + "`--fix`" + ` did). Names and states stay the same in later versions; new checks may be added.

## The checks

| check | all is well if | otherwise |
|---|---|---|
`

const pageEnd = `
## What --fix does

` + "`hob doctor --fix`" + ` does only what cannot lose anything, and prints each thing that it did:

- It takes permissions away that are too wide, from folders and files of hob's home and from files with keys.
- It makes missing folders of hob's home.
- It makes the index of the memory again from the memory files, if the index cannot be used and the disk is not the cause.
- It removes temporary files, sockets and half-made copies of an earlier run, if no hob runs.

Everything else is left to you: the line ` + "`fix`" + ` has the command. A second ` + "`--fix`" + ` finds nothing left to do.
`
