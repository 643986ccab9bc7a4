"""The headers of every response on the players' port, by aiohttp or by websockets."""

#: Pages run only their own scripts, appear in no frame, and may not use a device's sensors.
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none';"
        " form-action 'self'"
    ),
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid",
            "magnetometer", "microphone", "midi", "payment", "serial", "usb",
            "xr-spatial-tracking",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}  # fmt: skip

#: A lesson may appear in a frame of any page, such as that of a course. It needs no form and opens
#: no socket.
EMBED_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors *; base-uri 'none';"
        " form-action 'none'"
    )
}


def transport_security(hsts_s: int, is_https: bool) -> dict[str, str]:
    """The header that makes browsers use only HTTPS for `hsts_s` seconds (RFC 6797).

    It is empty if `hsts_s` is 0, and over HTTP (section 7.2).
    """
    return {"Strict-Transport-Security": f"max-age={hsts_s}"} if hsts_s and is_https else {}
