package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"hob/channels"
	"hob/daemon/netguard"
)

// ErrLost reports a file that cannot be downloaded, however often it is tried.
var ErrLost = errors.New("the file cannot be had")

// Elsewhere downloads a file that is on another server according to the platform. The token is not sent
// there. The file has at most channels.MaxFile bytes.
//
// The author of the message may have chosen the server. Private networks are therefore only allowed if the
// platform's own address, home, is in one. Errors do not contain the address, because it may include a key.
func Elsewhere(ctx context.Context, home, link string) (io.ReadCloser, error) {
	at, err := url.Parse(home)
	if err != nil {
		return nil, fmt.Errorf("read the platform's address: %w", WithoutAddress(ctx, err))
	}
	client := netguard.NewClient(netguard.Config{Timeout: FileTime, MaxBytes: channels.MaxFile})
	for range maxMoves {
		answer, err := client.Do(ctx, netguard.Request{Link: link, Private: netguard.Private(at.Hostname())})
		switch {
		case err != nil:
			return nil, guarded(err)
		case answer.Moved != "":
			link = answer.Moved
		case answer.Status == http.StatusOK:
			return io.NopCloser(bytes.NewReader(answer.Body)), nil
		case answer.Status >= http.StatusInternalServerError, answer.Status == http.StatusTooManyRequests:
			return nil, fmt.Errorf("the server that has the file says %d", answer.Status)
		default:
			return nil, fmt.Errorf("%w: the server that has it says %d", ErrLost, answer.Status)
		}
	}
	return nil, fmt.Errorf("%w: it is redirected again and again", ErrLost)
}

// maxMoves limits the servers that are asked for one file.
const maxMoves = 5

// guarded returns an error of the guarded client without the address. Errors that a retry cannot change
// become ErrLost.
func guarded(err error) error {
	if e := (*netguard.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	for _, never := range []error{netguard.ErrAddress, netguard.ErrForbidden, netguard.ErrTooLarge, netguard.ErrRedirects, netguard.ErrEncoding} {
		if errors.Is(err, never) {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
	return err
}
