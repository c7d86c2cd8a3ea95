// Package crashtest kills hob at random and checks what is left. It builds the real binary, plays the world around it (a model server, chat servers of each class of promise, the
// owner who changes his mind, strangers, a caller of its webhook, a folder that it watches, a file behind a gate), kills it with SIGKILL at every named point and at random, and then holds what the database and the world's own
// ledger say against the invariants I1 to I12. It holds tests only and never opens the database of a running hob.
//
//	go test ./daemon/crashtest -kills 500 -seed 7                                  or by the environment: HOB_KILLS, HOB_SEED
//	go test ./daemon/crashtest -run TestRandomKills -kills 10000 -timeout 60m -v   about 0.4 s for each kill; prints a table of what was lost and doubled by class, and
//	                                                                         of files, edits, deletions and buttons that came in
//	HOB_SPEND=600 go test ./daemon/crashtest -run TestSpendingUnderKills -v        seconds of spending under a kill each; 20 unless given
//
// From 500 kills on, TestNamedPoints kills at later passings of the points too.
package crashtest
