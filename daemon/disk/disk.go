// Package disk tells how much room a file system has. It reads and writes no file.
package disk
