package main_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// said waits until hob has said something so many times, and fails when it said it more often: said TEXT TIMES. The text is a regular
// expression for the whole of a message.
func said(ts *testscript.TestScript, _ bool, args []string) {
	whole, err := regexp.Compile("^(?:" + args[0] + ")$")
	ts.Check(err)
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	times, bodies := 0, ""
	look := func() bool {
		out, err := client.List(context.Background(), c, api.Outbox, client.Filter{Limit: 1000})
		ts.Check(err)
		times, bodies = 0, ""
		for _, o := range out {
			bodies += "\n" + o.Body
			if whole.MatchString(o.Body) {
				times++
			}
		}
		return times >= want
	}
	if until(ts, "it says "+args[0], look); times > want {
		ts.Fatalf("it said %q %d times, want %d:%s", args[0], times, want, bodies)
	}
}

// away makes the jobs of a hob that does not run so much older: away TIME. What comes due in that time finds hob away.
func away(ts *testscript.TestScript, _ bool, args []string) {
	by, err := time.ParseDuration(args[0])
	ts.Check(err)
	ago := fmt.Sprintf("-%d seconds", int(by.Seconds()))
	change(ts, `UPDATE triggers SET due = due - ?1, body = json_set(body, '$.created', strftime('%Y-%m-%dT%H:%M:%SZ', json_extract(body, '$.created'), ?2), '$.spec',
		iif(json_extract(body, '$.spec') LIKE 'at %', 'at ' || strftime('%Y-%m-%dT%H:%M:%SZ', substr(json_extract(body, '$.spec'), 4), ?2), json_extract(body, '$.spec')))
		WHERE kind = 'job' AND removed = 0 AND due > 0`, by.Microseconds(), ago)
}

// spoil makes a row unreadable, of a hob that does not run: spoil NAME.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, "UPDATE triggers SET body = '[]' WHERE name = ?", args[0])
}

// change changes the database of a hob that does not run.
func change(ts *testscript.TestScript, statement string, args ...any) {
	db, err := sql.Open("sqlite", filepath.Join(ts.Getenv("HOB_HOME"), "state", "hob.db"))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), statement, args...)
	ts.Check(errors.Join(err, db.Close()))
}
