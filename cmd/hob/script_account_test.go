package main_test

import (
	"context"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/account/caldavtest"
)

// caldavServer starts radicale, or a CalDAV server in memory where that is not installed, and names it in $CALDAV_URL.
func caldavServer(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("radicale")
	ts.Check(os.Mkdir(dir, 0o700))
	url, end, err := caldavtest.Radicale(context.Background(), dir)
	if err != nil && os.Getenv("CI") == "" {
		s := caldavtest.NewServer()
		url, end, err = s.URL, s.Close, nil
	}
	ts.Check(err)
	ts.Defer(end)
	ts.Setenv("CALDAV_URL", url)
}
