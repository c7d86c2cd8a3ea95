//go:build hobtest && unix

package daemon_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
	"hob/daemon/transcribe/transcribetest"
)

// Killed between the text of a message and its file, or around the file, hob sends each of them once; where Telegram may have it already,
// once more with a mark.
func TestFileCrashes(t *testing.T) {
	const marked = "(may be a repeat)"
	for point, want := range map[string]string{
		"artifact.written:1":    "", // nobody was told that it is accepted
		"between.parts:1":       "text, report.txt=bread",
		"sending.committed:2":   "text, report.txt=bread " + marked,
		"sending.answered:2":    "text, report.txt=bread, report.txt=bread " + marked,
		"sending.sent:2":        "text, report.txt=bread",
		"artifacts.forgotten:1": "text, report.txt=bread",
	} {
		t.Run(point, func(t *testing.T) {
			s := newStudio(t, t.TempDir(), "")
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			die(t, point, "TestFileCrashChild", s.home)
			s.running = start(t, s.home)
			if want == "" {
				if got := shelved(t, s.home); got != "" || len(s.telegram.Sent()) > 0 {
					t.Errorf("kept %q, sent %+v", got, s.telegram.Sent())
				}
				return
			}
			var got []string
			for _, m := range s.sent(strings.Count(want, ",") + 1) {
				line := m.Text
				if m.File != nil {
					line = strings.TrimSpace(m.File.Name + "=" + m.File.Data + " " + m.File.Caption)
				}
				got = append(got, line)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("arrived %q, want %q", got, want)
			}
			emptied(t, s.home)
		})
	}
}

// die runs a test of this binary in a process of its own, which is killed at a point.
func die(t *testing.T, point, test, home string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$") // #nosec G204 G702 -- this very test
	cmd.Env = append(os.Environ(), homeOfChild+"="+home, "HOB_FAIL="+point)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die there: %v\n%s", err, out)
	}
}

// TestFileCrashChild is the daemon that dies.
func TestFileCrashChild(t *testing.T) {
	home := os.Getenv(homeOfChild)
	if home == "" {
		t.Skip("TestFileCrashes runs it")
	}
	_, err := client.Do(t.Context(), start(t, home).client, api.SendText, "", api.Outgoing{To: "owner", Text: "text", Attachments: []api.Attachment{{Name: "report.txt", Data: []byte("bread")}}})
	if err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done() // until the process is killed
}

// Killed while a note is transcribed, hob listens again; what it has heard, it hears once.
func TestVoiceCrashes(t *testing.T) {
	for point, asked := range map[string]int{"turn.claimed:1": 1, "voice.heard:1": 2, "model.inflight:1": 1} {
		t.Run(point, func(t *testing.T) {
			ear := transcribetest.NewServer(transcribetest.Reply{Text: "buy milk"})
			t.Cleanup(ear.Close)
			s := newStudio(t, t.TempDir(), "[voice]\nbase_url = \""+ear.URL+"\"\n")
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			s.model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("noted")) })
			s.speak(nil)
			die(t, point, "TestVoiceCrashChild", s.home)
			s.running = start(t, s.home)
			if list := s.sent(1); list[0].Text != "noted" {
				t.Errorf("answered %+v", list)
			}
			if n := len(ear.Requests()); n != asked {
				t.Errorf("transcribed %d times, want %d", n, asked)
			}
			requests := s.model.Requests()
			if last := requests[len(requests)-1].Last(); strings.Count(last, "buy milk") != 1 {
				t.Errorf("the model reads %q", last)
			}
			if got := copies(t, s.home); got != "1/ 1/voice.ogg=OggS\x00 spoken words" {
				t.Errorf("kept %q", got)
			}
		})
	}
}

// TestVoiceCrashChild is the daemon that dies.
func TestVoiceCrashChild(t *testing.T) {
	home := os.Getenv(homeOfChild)
	if home == "" {
		t.Skip("TestVoiceCrashes runs it")
	}
	start(t, home)
	<-t.Context().Done()
}
