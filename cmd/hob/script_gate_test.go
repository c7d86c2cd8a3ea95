package main_test

import (
	"context"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/api/client"
)

// comes waits until a slot of a job has come to an outcome: comes JOB OUTCOME.
func comes(ts *testscript.TestScript, _ bool, args []string) {
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	until(ts, "a slot of "+args[0]+" is "+args[1], func() bool {
		var fires []struct{ Outcome string }
		ts.Check(c.List(context.Background(), "fires", client.Filter{Name: args[0], State: args[1]}, &fires))
		return len(fires) > 0
	})
}
