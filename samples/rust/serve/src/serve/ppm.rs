//! Images in the binary PPM format (P6) with 8 bits a colour.

#[derive(Debug, PartialEq)]
pub struct Image<'a> {
    pub width: usize,
    pub height: usize,
    /// Red, green and blue of each pixel, row by row.
    pub pixels: &'a [u8],
}

#[derive(Debug, PartialEq)]
pub enum Bad {
    NoImage(&'static str),
    TooLarge,
}

/// Bytes of the longest image that is accepted: comments of a header may have a kilobyte.
pub fn most_bytes(side: usize) -> usize {
    side * side * 3 + 1024
}

/// Reads an image of at most `side` x `side` pixels.
pub fn parse(bytes: &[u8], side: usize) -> Result<Image<'_>, Bad> {
    let mut rest = bytes.strip_prefix(b"P6").ok_or(Bad::NoImage("an image begins with P6"))?;
    let width = number(&mut rest)?;
    let height = number(&mut rest)?;
    if number(&mut rest)? != 255 {
        return Err(Bad::NoImage("an image has 255 shades of a colour"));
    }
    let [b' ' | b'\t' | b'\r' | b'\n', pixels @ ..] = rest else {
        return Err(Bad::NoImage("a blank is missing behind the header"));
    };
    if width == 0 || height == 0 {
        return Err(Bad::NoImage("an image has at least one pixel"));
    }
    if width > side || height > side {
        return Err(Bad::TooLarge);
    }
    if pixels.len() != width * height * 3 {
        return Err(Bad::NoImage("the image has more or fewer pixels than its header says"));
    }
    Ok(Image { width, height, pixels })
}

/// The next number of a header, behind blanks and comments.
fn number(rest: &mut &[u8]) -> Result<usize, Bad> {
    let start = *rest;
    while let [first, others @ ..] = *rest {
        match first {
            b' ' | b'\t' | b'\r' | b'\n' => *rest = others,
            b'#' => *rest = &rest[rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())..],
            _ => break,
        }
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (text, others) = rest.split_at(digits);
    *rest = others;
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_empty() && start.len() > text.len() + others.len() => {
            Ok(text.parse().unwrap_or(usize::MAX)) // with so many digits it is too large
        }
        _ => Err(Bad::NoImage("a number is missing in the header")),
    }
}

/// The bytes of an image.
pub fn written(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    [format!("P6\n{width} {height}\n255\n").as_bytes(), pixels].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bytes: &[u8]) -> Result<(usize, usize, usize), Bad> {
        parse(bytes, 4).map(|image| (image.width, image.height, image.pixels.len()))
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        assert_eq!(sizes(&written(2, 1, &[7; 6])), Ok((2, 1, 6)));
        assert_eq!(sizes(b"P6 # two\n# lines\n1\t2 # high\n255\r......"), Ok((1, 2, 6)));
        assert_eq!(parse(b"P6\n1 1\n255\n\n#\n", 4).map(|image| image.pixels), Ok(&b"\n#\n"[..]));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for bytes in [
            &b""[..],
            b"P5\n1 1\n255\n...",
            b"P61 1\n255\n...",
            b"P6\n1 1\n255",
            b"P6\n1 1\n254\n...",
            b"P6\n1 1\n255\n..",
            b"P6\n1 1\n255\n....",
            b"P6\n0 1\n255\n",
            b"P6\n-1 1\n255\n...",
            b"P6\n1 #",
        ] {
            assert!(matches!(sizes(bytes), Err(Bad::NoImage(_))), "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_is_too_large_is_told_from_its_header() {
        assert_eq!(sizes(b"P6\n5 1\n255\n"), Err(Bad::TooLarge));
        assert_eq!(sizes(b"P6\n1 99999999999999999999999999\n255\n"), Err(Bad::TooLarge));
    }
}
