package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"eruptcloud/app/fault"
)

// Captcha makes pictures of characters that a login has to read once it has failed a few times. It slows down scripts that
// guess; what stops them is the lock.
type Captcha struct {
	vault Vault
	nonce []byte // clients choose the numbers of their pictures: it keeps the names in the vault from following from them
}

const (
	captchaLength = 4
	captchaLife   = time.Minute
	// legibleUpper leaves out what looks alike in a picture.
	legibleUpper = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
)

// Picture makes the picture for a number of at most 20 digits, a PNG of 150 pixels in width; an older one of that number is
// over. height is kept between 10 and 100 pixels. fault.Invalid if mark is no number.
func (c *Captcha) Picture(ctx context.Context, mark string, height int) ([]byte, error) {
	if !markLike(mark) {
		return nil, fault.New(fault.Invalid, "mark must be a number of at most 20 digits")
	}
	text := randomText(legibleUpper, captchaLength)
	if err := c.vault.Put(ctx, c.key(mark), text, captchaLife); err != nil {
		return nil, err
	}
	return drawCaptcha(text, min(max(height, 10), 100))
}

// Verify reports whether code is what the picture of mark shows, in any case. Each picture is compared once.
func (c *Captcha) Verify(ctx context.Context, mark, code string) (bool, error) {
	if !markLike(mark) || len(code) > 16 {
		return false, nil
	}
	text, err := c.vault.Take(ctx, c.key(mark))
	if fault.Is(err, fault.NotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return same(strings.ToUpper(strings.TrimSpace(code)), strings.ToUpper(text)), nil
}

func (c *Captcha) key(mark string) string {
	sum := hmac.New(sha256.New, c.nonce)
	sum.Write([]byte(mark))
	return "verify-code:" + hex.EncodeToString(sum.Sum(nil)[:8]) + "-" + mark
}

// NewMark returns a number for a picture of one's own.
func (c *Captcha) NewMark() string { return "1" + randomText("0123456789", 15) }

func markLike(mark string) bool {
	return mark != "" && len(mark) <= 20 && strings.Trim(mark, "0123456789") == ""
}
