package signal_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"hob/channels"
	"hob/channels/channelstest"
	signalchannel "hob/channels/signal"
	"hob/daemon/sys"
)

// runDaemonAt is the command line with which a test starts this program as a hob that runs signal-cli at an
// address.
const runDaemonAt = "run-signal-cli-at"

// said is an inbox that reports received messages.
type said struct{ channelstest.MessageInbox }

// Receive accepts messages.
func (b *said) Receive(ctx context.Context, list []channels.Message, c *channels.Cursor) error {
	if len(list) > 0 {
		fmt.Print(".")
	}
	return b.MessageInbox.Receive(ctx, list, c)
}

// keep is a hob whose channel runs signal-cli at an address, and that does not end by itself.
func keep(addr string) int {
	ch, err := signalchannel.New(
		channels.Env{Name: "signal", HTTP: &http.Client{}, Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler)},
		signalchannel.Config{Account: phone, URL: "http://" + addr, Command: os.Args[0]},
	)
	if err == nil {
		err = ch.Run(context.Background(), &said{})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
