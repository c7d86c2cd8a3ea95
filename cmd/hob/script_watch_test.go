package main_test

import (
	"context"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// looking waits until a watch has had its first look: looking WATCH.
func looking(ts *testscript.TestScript, _ bool, args []string) {
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	until(ts, args[0]+" watches", func() bool {
		w, err := client.Show(context.Background(), c, api.ShowWatch, args[0])
		return err == nil && w.Ready
	})
}

// ran waits until a watch has run so many times, and fails when it ran more often: ran TIMES WATCH.
func ran(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	w, err := client.Show(context.Background(), c, api.ShowWatch, args[1])
	ts.Check(err)
	var fires []api.Fire
	until(ts, args[1]+" ran "+args[0]+" times", func() bool {
		fires, err = client.List(context.Background(), c, api.Fires, client.Filter{Name: strconv.FormatInt(w.ID, 10), State: "ran"})
		ts.Check(err)
		return len(fires) >= want
	})
	if len(fires) > want {
		ts.Fatalf("%s ran %d times, want %d", args[1], len(fires), want)
	}
}
