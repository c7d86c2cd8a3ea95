package main_test

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// comes waits until a slot of a job has come to an outcome: comes JOB OUTCOME.
func comes(ts *testscript.TestScript, _ bool, args []string) {
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	until(ts, "a slot of "+args[0]+" is "+args[1], func() bool {
		fires, err := client.List(context.Background(), c, api.Fires, client.Filter{Name: args[0], State: args[1]})
		ts.Check(err)
		return len(fires) > 0
	})
}
