package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Sizes in a write-ahead log (sqlite.org/fileformat2.html, 4.1).
const (
	walHead   = 32
	frameHead = 24
	walMagic  = 0x377f0682 // its lowest bit says that the checksums are big-endian
)

// lostCommits returns how many commits a write-ahead log holds after a damaged frame, where SQLite does not read them. A commit is acknowledged only
// after it was synced, and the next one begins after that: so a commit with others after it was once complete. 0 means that nothing is known to be
// lost: a power cut may tear the last commit, which was never acknowledged.
func lostCommits(path string) (int, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(f, 1<<20)
	lost, err := scanLog(in)
	return lost, errors.Join(err, f.Close())
}

func scanLog(in io.Reader) (int, error) {
	head := make([]byte, walHead)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, ended(err)
	}
	magic, page := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[8:])
	if magic&^1 != walMagic || page < 512 || page > 65536 {
		return 0, nil // SQLite reads nothing of it, and no salts say what belonged to it
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := checksum(order, [2]uint32{}, head[:24])
	frame := make([]byte, frameHead+page)
	after, damaged := 0, false
	for {
		if _, err := io.ReadFull(in, frame); err != nil {
			return max(after-1, 0), ended(err) // the first commit after the damage may be the damaged one itself
		}
		if string(frame[8:16]) != string(head[16:24]) {
			return max(after-1, 0), nil // the rest is from before the log was begun anew
		}
		sum = checksum(order, checksum(order, sum, frame[:8]), frame[frameHead:])
		damaged = damaged || sum != [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])}
		if damaged && binary.BigEndian.Uint32(frame[4:]) > 0 { // the size of the database after a commit
			after++
		}
	}
}

// checksum goes on with the checksum of a log (sqlite.org/fileformat2.html, 4.2).
func checksum(order binary.ByteOrder, sum [2]uint32, data []byte) [2]uint32 {
	for ; len(data) >= 8; data = data[8:] {
		sum[0] += order.Uint32(data) + sum[1]
		sum[1] += order.Uint32(data[4:]) + sum[0]
	}
	return sum
}

// ended makes the end of a log, which may be within a frame, no error.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
