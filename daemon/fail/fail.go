// Package fail names the places in the code where a crash is worth testing. In a release build its functions do nothing and cost nothing.
// A build with -tags hobtest can kill the process at such a place or switch on a deliberate fault. The production code
// has at most a condition for a fault; the wrong branch is in a file of its package with that build tag, breaks_hobtest.go.
package fail
