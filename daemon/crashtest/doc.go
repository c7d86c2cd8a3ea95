// Package crashtest kills hob at random and checks that nothing is lost or doubled. It builds the real binary and plays everything
// around it: a model server, chat servers with each class of delivery guarantee, an owner who edits and deletes messages,
// strangers, a caller of its webhook, a watched folder, and a file behind a gate. It kills hob with SIGKILL at every named point
// and at random, and lets it recover. Then it compares the database and the records of the fakes with the invariants I1 to I12.
// The package holds only tests, and it never opens the database of a running hob.
//
// The files: harness_test.go starts, kills and settles the daemon; outside_test.go and servers_test.go are the fakes; chats,
// edits, watch and triggers plan what happens; invariants, chats_check, edits_check and outcomes check the result;
// records_test.go reads the database.
//
//	go test ./daemon/crashtest -kills 500 -seed 7                                  or by the environment: HOB_KILLS, HOB_SEED
//	go test ./daemon/crashtest -run TestRandomKills -kills 10000 -timeout 60m -v   about 0.4 s for each kill; prints a table of what was lost and doubled by class, and
//	                                                                         of files, edits, deletions and buttons that came in
//	HOB_SPEND=600 go test ./daemon/crashtest -run TestSpendingUnderKills -v        seconds of spending under a kill each; 20 unless given
//
// With 500 kills or more, TestNamedPoints also kills at later passes of the named points.
package crashtest
