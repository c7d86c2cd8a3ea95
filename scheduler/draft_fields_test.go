package scheduler_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// draftValues has a value for each field of a Draft that comes from an input, by the name of the Go field: another one than the default.
var draftValues = map[string]any{
	"Name": "other", "When": "every day at 7", "Cron": "0 7 * * *", "Every": "45m", "At": "2026-12-24 17:00", "Prompt": "look again", "Zone": "America/New_York",
	"Session": "isolated", "Deliver": "none", "Missed": "skip", "MaxLate": "3h", "Overlap": "queue", "GateText": "wc -l inbox.txt", "GateURL": "https://example.org/feed",
	"GateFiles": []string{"~/a.txt"}, "Tools": []string{"read"}, "MaxTokens": int64(20_000),
}

// elsewhere are the fields of a Draft from an input that other code reads, which puts what it finds into Permissions or Gate.
var elsewhere = map[string]string{
	"Allow": "daemon/triggers checks rights", "Rights": "daemon/triggers checks rights", "Limits": "daemon/triggers parses limits", "Plain": "daemon/triggers asks the interpreter", "GateMode": "has a meaning with a command only",
}

// TestEveryFieldOfADraftCounts sets each field of a draft by itself. A new job and a changed job must both be others because of it: a field that
// apply forgets is found here.
func TestEveryFieldOfADraftCounts(t *testing.T) {
	now := saturday(t)
	base := scheduler.Draft{Name: "base", When: "every weekday at 9", Prompt: "look", Trust: event.Owner}
	plain, _, err := scheduler.New(base, now.Location(), now)
	if err != nil {
		t.Fatal(err)
	}
	plain.ID = 7
	fields := reflect.TypeFor[scheduler.Draft]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Tag.Get("json") == "-" && f.Tag.Get("toml") == "-" || elsewhere[f.Name] != "" {
			continue // set by the code that decodes
		}
		t.Run(f.Name, func(t *testing.T) {
			value, ok := draftValues[f.Name]
			if !ok {
				t.Fatal("draftValues has no value for this field")
			}
			d, change := base, scheduler.Draft{Trust: event.Owner}
			configOnly := f.Name == "Cron" || f.Name == "Every" || f.Name == "At" // a change has its schedule in When
			if configOnly {
				d.When = "" // a job has one schedule
			}
			reflect.ValueOf(&d).Elem().Field(i).Set(reflect.ValueOf(value))
			reflect.ValueOf(&change).Elem().Field(i).Set(reflect.ValueOf(value))
			made, _, err := scheduler.New(d, now.Location(), now)
			if err != nil || stored(t, made) == stored(t, plain) {
				t.Errorf("a new job is the same with it, %v", err)
			}
			if configOnly {
				return
			}
			changed, _, err := plain.Change(change, now.Location(), now)
			if err != nil || stored(t, changed) == stored(t, plain) {
				t.Errorf("a changed job is the same, %v", err)
			}
		})
	}
}

// TestAChangeKeepsTheRest changes nothing: every field that a draft leaves empty stays.
func TestAChangeKeepsTheRest(t *testing.T) {
	now := saturday(t)
	d := scheduler.Draft{Trust: event.Owner, When: draftValues["When"].(string)}
	for name, value := range draftValues {
		if name != "Cron" && name != "Every" && name != "At" {
			reflect.ValueOf(&d).Elem().FieldByName(name).Set(reflect.ValueOf(value))
		}
	}
	full, _, err := scheduler.New(d, now.Location(), now)
	if err != nil {
		t.Fatal(err)
	}
	full.ID = 7
	same, _, err := full.Change(scheduler.Draft{Permissions: full.Permissions}, now.Location(), now.Add(time.Minute))
	if err != nil || stored(t, same) != stored(t, full) {
		t.Errorf("%v\n got %s\nwant %s", err, stored(t, same), stored(t, full))
	}
}

// TestEveryFieldOfATriggerIsASetting: of the fields of a trigger only those that identify it or say how it fares do not make two jobs different.
func TestEveryFieldOfATriggerIsASetting(t *testing.T) {
	not := " ID Name Trust Typed Origin Paused Created Tainted Failures BackoffUntil Broken "
	base := scheduler.Job{Spec: "every 30m", Zone: "UTC"}
	fill := func(v reflect.Value) {
		switch v.Kind() { //nolint:exhaustive // of a trigger's fields
		case reflect.String:
			v.SetString("other")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(9)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Struct:
			v.Set(reflect.ValueOf(time.Unix(9, 0)))
		default:
			t.Fatalf("a field of the kind %s: fill does not know it", v.Kind())
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[scheduler.Trigger]()) {
		if f.Anonymous {
			continue
		}
		other := base
		fill(reflect.ValueOf(&other.Trigger).Elem().FieldByIndex(f.Index))
		if setting := !strings.Contains(not, " "+f.Name+" "); base.Same(other) == setting {
			t.Errorf("%s: a setting %v, but the jobs are the same %v", f.Name, setting, !setting)
		}
	}
}

func stored(t *testing.T, j scheduler.Job) string {
	t.Helper()
	doc, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}
