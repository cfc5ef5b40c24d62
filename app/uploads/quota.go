package uploads

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"eruptcloud/app/fault"
)

// kept are the paths that this store gave out; nothing else in the folder is served. The last part tells whose a file is, and
// is missing from older ones.
var kept = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}/[A-Z2-7]{22}(?:-([a-z2-7]{8}))?\.(?:png|jpg|gif|webp|bmp)$`)

// ownerOf is what the names of an account's files say of it: enough to add them up, not to read the account from them.
func ownerOf(account string) string {
	sum := sha256.Sum256([]byte("owner of uploads\n" + account))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// share is what one account may keep, so that nobody fills the folder for all.
func (s *Store) share() int64 {
	if s.o.MaxAccount > 0 {
		return s.o.MaxAccount
	}
	return max(s.o.MaxTotal/10, s.o.MaxFile)
}

// room refuses a file when nothing more can be kept. What other replicas put there counts from the next start.
func (s *Store) room(owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owned == nil {
		if err := s.count(); err != nil {
			return notKept(fmt.Errorf("count what is there: %w", err))
		}
	}
	return s.full(owner, 1)
}

// count adds up what is there; s.mu is held.
func (s *Store) count() error {
	total, owned := int64(0), map[string]int64{}
	folder, err := filepath.EvalSymlinks(s.o.Folder) // the walk does not follow a link it begins at
	if err == nil {
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			total += info.Size()
			name, _ := filepath.Rel(folder, path) // it is below
			if m := kept.FindStringSubmatch(filepath.ToSlash(name)); m != nil && m[1] != "" {
				owned[m[1]] += info.Size()
			}
			return nil
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.total, s.owned = total, owned
	return nil
}

// full tells why more bytes of an owner cannot be kept, nil if they can; s.mu is held.
func (s *Store) full(owner string, more int64) error {
	if s.total+more > s.o.MaxTotal {
		return fault.New(fault.Unavailable, "the folder of uploads is full: %d bytes are kept, %d may be", s.total, s.o.MaxTotal)
	}
	if has, may := s.owned[owner], s.share(); has+more > may {
		return fault.New(fault.TooLarge, "your share of the folder of uploads is full: %d bytes are kept, %d may be", has, may)
	}
	return nil
}

func (s *Store) add(owner string, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += more
	s.owned[owner] += more
}

// claim reads an upload and counts it as it comes, so that uploads at the same time share what room there is.
type claim struct {
	s     *Store
	owner string
	from  io.Reader
	size  int64 // counted so far
	full  error
}

func (c *claim) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if n == 0 {
		return n, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	more := min(int64(n), c.s.o.MaxFile-c.size) // a larger file is refused for its size
	if c.full = c.s.full(c.owner, more); c.full != nil {
		return 0, c.full
	}
	c.s.total += more
	c.s.owned[c.owner] += more
	c.size += more
	return n, err
}
