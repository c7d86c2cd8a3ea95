// Package disk tells how much room a file system has, and whose a file is. It reads and writes no file.
package disk
