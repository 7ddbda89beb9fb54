"""What driver and recorder say to each other, and the driver's end of their connection."""
