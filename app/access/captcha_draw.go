package access

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/math/fixed"
)

const captchaWidth = 150

var captchaFont = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(gobold.TTF) })

// inks are dark enough on white for everybody.
var inks = []color.RGBA{{0x1d, 0x4e, 0x89, 255}, {0x8a, 0x2b, 0x2b, 255}, {0x2b, 0x66, 0x3c, 255}, {0x5b, 0x2d, 0x82, 255}, {0x6b, 0x4a, 0x11, 255}}

// drawCaptcha draws each character of a text tilted a little, and a few lines over them.
func drawCaptcha(text string, height int) ([]byte, error) {
	parsed, err := captchaFont()
	if err != nil {
		return nil, fmt.Errorf("the font of captchas: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: float64(height) * 0.78, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, fmt.Errorf("the font of captchas: %w", err)
	}
	defer face.Close()
	picture := image.NewRGBA(image.Rect(0, 0, captchaWidth, height))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	slot := captchaWidth / len(text)
	for i, r := range text {
		drawTilted(picture, face, r, image.Rect(i*slot, 0, (i+1)*slot, height))
	}
	for range 3 {
		drawWave(picture, inks[rand.IntN(len(inks))])
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("write a captcha: %w", err)
	}
	return out.Bytes(), nil
}

// drawTilted draws one character into the middle of a slot.
func drawTilted(picture draw.Image, face font.Face, r rune, slot image.Rectangle) {
	bounds, _, _ := face.GlyphBounds(r)
	size := image.Pt((bounds.Max.X-bounds.Min.X).Ceil()+2, (bounds.Max.Y-bounds.Min.Y).Ceil()+2)
	glyph := image.NewRGBA(image.Rectangle{Max: size})
	pen := font.Drawer{Dst: glyph, Src: image.NewUniform(inks[rand.IntN(len(inks))]), Face: face, Dot: fixed.Point26_6{
		X: fixed.I(1) - bounds.Min.X, Y: fixed.I(1) - bounds.Min.Y,
	}}
	pen.DrawString(string(r))
	sin, cos := math.Sincos((rand.Float64() - 0.5) * 0.6)
	shrink := min(1, float64(slot.Dx())/float64(size.X+4), float64(slot.Dy())/float64(size.Y+4))
	sin, cos = sin*shrink, cos*shrink
	cx, cy := float64(size.X)/2, float64(size.Y)/2
	toX := float64(slot.Min.X+slot.Max.X)/2 + (rand.Float64()-0.5)*4
	toY := float64(slot.Min.Y+slot.Max.Y)/2 + (rand.Float64()-0.5)*2
	turn := f64.Aff3{cos, -sin, toX - cos*cx + sin*cy, sin, cos, toY - sin*cx - cos*cy}
	draw.BiLinear.Transform(picture, turn, glyph, glyph.Bounds(), draw.Over, nil)
}

// drawWave draws a thin wave from left to right.
func drawWave(picture *image.RGBA, ink color.RGBA) {
	height := float64(picture.Bounds().Dy())
	middle, swing := height*(0.25+rand.Float64()*0.5), height*(0.1+rand.Float64()*0.2)
	length, start := 30+rand.Float64()*40, rand.Float64()*math.Pi*2
	for x := range captchaWidth {
		picture.SetRGBA(x, int(middle+swing*math.Sin(start+float64(x)/length*math.Pi)), ink)
	}
}
