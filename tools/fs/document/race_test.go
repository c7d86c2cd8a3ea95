//go:build race

package document_test

// raced: the race detector takes memory of its own.
const raced = true
