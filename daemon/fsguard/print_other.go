//go:build !linux

package fsguard

// Look looks at what has a name. Symbolic links are not followed.
func Look(path string) (Print, error) { return lstat(path) }
