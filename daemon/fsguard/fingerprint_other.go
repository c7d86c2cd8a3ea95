//go:build !linux

package fsguard

// Look returns the fingerprint of a path. Symbolic links are not followed.
func Look(path string) (Fingerprint, error) { return lstat(path) }
